// The native format, with and without packed weights: read, planned, run.
#include <cstring>

#include "runtime/cpu/cpu_device.h"
#include "runtime/session/executable.h"
#include "serialization/checksum.h"
#include "serialization/native/format.h"
#include "serialization/native/reader.h"
#include "serialization/native/writer.h"
#include "tests/fuzz/plan.h"
#include "tests/fuzz/target.h"
#include "tests/serialization/files.h"
#include "tests/serialization/sample_graphs.h"
#include "tests/support/status.h"

namespace ashlar::testing {
namespace {

constexpr size_t kMostPacked = 8;  // seeds with a packed section

std::vector<std::string> Seeds() {
  cpu::RegisterDevice();
  const TempDir folder;
  const std::string path = folder / "m.ash";
  std::vector<std::string> seeds;
  size_t packed = 0;
  for (const SampleGraph& sample : SampleGraphs()) {
    if (WriteModel(sample.graph, path).ok()) seeds.push_back(ReadWholeFile(path));
    if (packed == kMostPacked) continue;
    const auto executable = Executable::Compile(sample.graph, {});
    if (!executable.ok()) continue;
    if (!WriteModel(sample.graph, Executable::ToPacked(*executable), path).ok()) continue;
    seeds.push_back(ReadWholeFile(path));
    ++packed;
  }
  return seeds;
}

void Run(absl::Span<const uint8_t> file) {
  void* block = nullptr;
  Expect(posix_memalign(&block, kWeightAlignment, file.size()) == 0, "there is memory");
  const std::shared_ptr<const void> owner(block, std::free);
  if (!file.empty()) std::memcpy(block, file.data(), file.size());
  const auto bytes = absl::MakeConstSpan(static_cast<const uint8_t*>(block), file.size());
  auto packed = ReadPackedModelFromBytes(bytes, owner, "m.ash");
  ExpectAnError(packed.status());
  cpu::RegisterDevice();
  if (packed.ok() && packed->has_value()) {
    ExpectAnError(Executable::FromPacked(**std::move(packed), {}).status());
  }
  PlanWhatWasRead(ReadModelFromBytes(bytes, owner, "m.ash"));
}

// Changes bytes of the graph or of the packed section's header, and fixes the checksums.
std::string Mutate(const std::string& file, std::mt19937_64& random) {
  const auto span = [](const std::string& text) {
    return absl::MakeConstSpan(reinterpret_cast<const uint8_t*>(text.data()), text.size());
  };
  absl::StatusOr<NativeHeader> header = DecodeHeader(span(file), span(file).size());
  if (!header.ok() || !header->has_checksums) return WithChangedBytes(file, random);
  uint64_t packed_bytes = 0;  // of the header
  if (header->packed_offset != 0) {
    const uint64_t rest = file.size() - header->packed_offset;
    if (rest < sizeof(PackedHeader)) return WithChangedBytes(file, random);
    std::memcpy(&packed_bytes, file.data() + header->packed_offset, sizeof(packed_bytes));
    packed_bytes = std::min(packed_bytes, rest - sizeof(PackedHeader)) + sizeof(PackedHeader);
  }
  const bool of_graph = packed_bytes == 0 || random() % 2 == 0;
  const uint64_t at = of_graph ? header->graph_offset : header->packed_offset;
  const uint64_t bytes = of_graph ? header->graph_bytes : packed_bytes;
  std::string section = WithChangedBytes(file.substr(at, bytes), random);
  section.resize(bytes, '\0');
  std::string result = file;
  result.replace(at, bytes, section);
  header->graph_checksum = Checksum(result.data() + header->graph_offset, header->graph_bytes);
  if (packed_bytes != 0) {
    header->index_checksum = Checksum(result.data() + header->packed_offset, packed_bytes);
  }
  const auto encoded = EncodeHeader(*header);
  return result.replace(0, encoded.size(), reinterpret_cast<const char*>(encoded.data()),
                        encoded.size());
}

}  // namespace

const FuzzTarget kFuzzTarget = {Seeds, {}, Run, Mutate};

}  // namespace ashlar::testing
