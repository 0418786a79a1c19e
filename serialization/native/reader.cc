#include "serialization/native/reader.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "graph/status.h"
#include "serialization/native/format.h"
#include "serialization/native/graph_reader.h"
#include "serialization/native/section.h"
#include "serialization/reject.h"

namespace ashlar {
namespace {

// The deepest nesting in the schema is: Packed, Model, nodes, Node, outputs, Var, name.
constexpr size_t kMaxDepth = 9;

// Returns the root table of a section, or InvalidArgument if it is not a valid FlatBuffer of that
// kind.
template <typename Table>
absl::StatusOr<const Table*> VerifiedRoot(absl::Span<const uint8_t> section,
                                          absl::string_view what) {
  // Each reference to a table takes at least 4 bytes.
  flatbuffers::Verifier verifier(section.data(), section.size(), kMaxDepth,
                                 static_cast<flatbuffers::uoffset_t>(section.size() / 4));
  if (section.size() < sizeof(flatbuffers::uoffset_t) ||
      section.size() >= FLATBUFFERS_MAX_BUFFER_SIZE || !verifier.VerifyBuffer<Table>(nullptr)) {
    return Reject("the ", what, " of ", section.size(), " bytes is no valid FlatBuffer of a model");
  }
  return flatbuffers::GetRoot<Table>(section.data());
}

std::vector<FixedAxis> FixedAxesOf(const fbs::Model& model) {
  std::vector<FixedAxis> axes;
  if (model.fixed_axes() == nullptr) return axes;
  for (const fbs::FixedAxis* axis : *model.fixed_axes()) {
    axes.push_back({axis->input()->str(), std::max(axis->axis(), 0), axis->node()->str()});
  }
  return axes;
}

absl::StatusOr<Graph> Read(absl::Span<const uint8_t> bytes, const MappedFile* file,
                           std::shared_ptr<const void> owner, NativeHeader* header,
                           std::vector<FixedAxis>* fixed) {
  ASHLAR_ASSIGN_OR_RETURN(*header, HeaderOf(bytes, file));
  ASHLAR_ASSIGN_OR_RETURN(
      const Section graph_section,
      Section::Load(bytes.subspan(header->graph_offset, header->graph_bytes), file));
  const absl::Span<const uint8_t> section = graph_section.bytes();
  ASHLAR_ASSIGN_OR_RETURN(const fbs::Model* const model,
                          VerifiedRoot<fbs::Model>(section, "graph section"));
  absl::StatusOr<Graph> graph =
      ReadGraph(*model, {static_cast<int64_t>(section.size()),
                         bytes.subspan(header->weights_offset, header->weights_bytes), file,
                         std::move(owner)});
  if (graph.ok() && fixed != nullptr) *fixed = FixedAxesOf(*model);
  // Checked last: an error inside a damaged section says more.
  if (graph.ok() && header->has_checksums) {
    ASHLAR_RETURN_IF_ERROR(CheckSection("graph section", section, header->graph_checksum));
  }
  return graph;
}

// Checks the constants of a graph whose section has been read, except `unread`, and drops their
// pages.
absl::Status CheckConstants(const fbs::Model& model, absl::Span<const uint8_t> weights,
                            const MappedFile& file,
                            const absl::flat_hash_set<const void*>& unread = {}) {
  absl::flat_hash_set<uint64_t> checked;  // offsets; equal constants share one
  for (const fbs::Node* node : *model.nodes()) {
    const fbs::Extent* const value = node->value();
    if (value == nullptr || !checked.insert(value->offset()).second) continue;
    const absl::Span<const uint8_t> bytes = weights.subspan(value->offset(), value->bytes());
    if (unread.contains(bytes.data())) continue;
    ASHLAR_RETURN_IF_ERROR(CheckMappedSection(
        absl::StrCat("value of '", node->name()->str().substr(0, kLongestUncheckedName), "'"),
        bytes, node->checksum(), file));
  }
  return absl::OkStatus();
}

absl::Span<const uint8_t> PackedFront(absl::Span<const uint8_t> bytes, const NativeHeader& header,
                                      const PackedHeader& packed) {
  return bytes.subspan(header.packed_offset, sizeof(packed) + packed.index_bytes);
}

absl::StatusOr<std::optional<PackedModel>> ReadPacked(absl::Span<const uint8_t> bytes,
                                                      const MappedFile* file,
                                                      std::shared_ptr<const void> owner) {
  ASHLAR_ASSIGN_OR_RETURN(const NativeHeader header, HeaderOf(bytes, file));
  if (header.packed_offset == 0) return std::optional<PackedModel>();
  ASHLAR_ASSIGN_OR_RETURN(const PackedHeader packed_header, PackedHeaderOf(bytes, header, file));
  ASHLAR_ASSIGN_OR_RETURN(const Section section,
                          Section::Load(PackedFront(bytes, header, packed_header), file));
  const absl::Span<const uint8_t> front = section.bytes();
  const absl::Span<const uint8_t> index = front.subspan(sizeof(packed_header));
  ASHLAR_ASSIGN_OR_RETURN(const fbs::Packed* const root,
                          VerifiedRoot<fbs::Packed>(index, "packed section's index"));
  absl::StatusOr<PackedModel> packed = ReadPackedIndex(
      *root, {static_cast<int64_t>(index.size()),
              bytes.subspan(header.weights_offset, header.weights_bytes), file, owner});
  if (!packed.ok()) return Annotate(packed.status(), "packed section");
  if (header.has_checksums) {
    ASHLAR_RETURN_IF_ERROR(CheckSection("packed section's index", front, header.index_checksum));
  }
  packed->pool = bytes.data() + packed_header.pool_offset;
  packed->pool_bytes = static_cast<int64_t>(packed_header.pool_bytes);
  packed->owner = std::move(owner);
  return std::optional<PackedModel>(*std::move(packed));
}

// An error of the disk names the file already.
absl::Status Named(const std::string& name, const absl::Status& status) {
  return absl::IsDataLoss(status) ? status : Annotate(status, name);
}

template <typename T>
absl::StatusOr<T> Named(absl::string_view name, absl::StatusOr<T> result) {
  if (result.ok() || absl::IsDataLoss(result.status())) return result;
  return Reject(name, ": ", result.status().message());
}

absl::Status CheckAligned(absl::Span<const uint8_t> bytes, absl::string_view name) {
  if (reinterpret_cast<uintptr_t>(bytes.data()) % kWeightAlignment == 0) return absl::OkStatus();
  return Reject(name, ": the bytes do not start at a multiple of ", kWeightAlignment);
}

}  // namespace

absl::StatusOr<Graph> ReadModel(const std::string& path, ModelFile* file) {
  ASHLAR_ASSIGN_OR_RETURN(std::shared_ptr<const MappedFile> mapping, MappedFile::Open(path));
  return ReadMappedModel(std::move(mapping), path, file);
}

absl::StatusOr<Graph> ReadMappedModel(std::shared_ptr<const MappedFile> mapping,
                                      const std::string& name, ModelFile* file) {
  NativeHeader header;
  std::vector<FixedAxis> fixed;
  absl::StatusOr<Graph> graph =
      Named(name, Read(mapping->bytes(), mapping.get(), mapping, &header, &fixed));
  if (graph.ok() && file != nullptr) {
    *file = {std::move(mapping), static_cast<int64_t>(header.weights_bytes), name,
             std::move(fixed)};
  }
  return graph;
}

absl::StatusOr<Graph> ReadModelFromBytes(absl::Span<const uint8_t> bytes,
                                         std::shared_ptr<const void> owner, absl::string_view name,
                                         std::vector<FixedAxis>* fixed) {
  ASHLAR_RETURN_IF_ERROR(CheckAligned(bytes, name));
  NativeHeader header;
  return Named(name, Read(bytes, nullptr, std::move(owner), &header, fixed));
}

ConstantChecksums RecordedChecksums(const ModelFile& file) {
  ConstantChecksums checksums;
  const absl::Span<const uint8_t> bytes = file.mapping->bytes();
  const absl::StatusOr<NativeHeader> header = HeaderOf(bytes, file.mapping.get());
  if (!header.ok() || !header->has_checksums) return checksums;
  const absl::StatusOr<Section> section =
      Section::Load(bytes.subspan(header->graph_offset, header->graph_bytes), file.mapping.get());
  if (!section.ok() || !CheckSection("", section->bytes(), header->graph_checksum).ok()) {
    return checksums;  // written to since it was opened
  }
  const fbs::Model& model = *flatbuffers::GetRoot<fbs::Model>(section->bytes().data());
  for (const fbs::Node* node : *model.nodes()) {
    const fbs::Extent* const value = node->value();
    if (value == nullptr || value->bytes() == 0) continue;  // no constant begins there
    checksums.emplace(bytes.data() + header->weights_offset + value->offset(), node->checksum());
  }
  return checksums;
}

absl::Status CheckWeights(const ModelFile& file, const absl::flat_hash_set<const void*>& unread) {
  const MappedFile& mapping = *file.mapping;
  const absl::Span<const uint8_t> bytes = mapping.bytes();
  ASHLAR_ASSIGN_OR_RETURN(const NativeHeader header, HeaderOf(bytes, &mapping));
  if (!header.has_checksums) return absl::OkStatus();
  ASHLAR_ASSIGN_OR_RETURN(
      const Section section,
      Section::Load(bytes.subspan(header.graph_offset, header.graph_bytes), &mapping));
  // It may have been written to since it was opened.
  ASHLAR_RETURN_IF_ERROR(
      Named(file.name, CheckSection("graph section", section.bytes(), header.graph_checksum)));
  return Named(file.name, CheckConstants(*flatbuffers::GetRoot<fbs::Model>(section.bytes().data()),
                                         bytes.subspan(header.weights_offset, header.weights_bytes),
                                         mapping, unread));
}

absl::Status CheckPackedWeights(const ModelFile& file) {
  const MappedFile& mapping = *file.mapping;
  const absl::Span<const uint8_t> bytes = mapping.bytes();
  ASHLAR_ASSIGN_OR_RETURN(const NativeHeader header, HeaderOf(bytes, &mapping));
  if (!header.has_checksums || header.packed_offset == 0) return absl::OkStatus();
  ASHLAR_ASSIGN_OR_RETURN(const PackedHeader packed, PackedHeaderOf(bytes, header, &mapping));
  ASHLAR_ASSIGN_OR_RETURN(const Section section,
                          Section::Load(PackedFront(bytes, header, packed), &mapping));
  ASHLAR_RETURN_IF_ERROR(Named(
      file.name, CheckSection("packed section's index", section.bytes(), header.index_checksum)));
  const uint8_t* const index = section.bytes().data() + sizeof(packed);
  ASHLAR_RETURN_IF_ERROR(
      Named(file.name,
            CheckConstants(*flatbuffers::GetRoot<fbs::Packed>(index)->model(),
                           bytes.subspan(header.weights_offset, header.weights_bytes), mapping)));
  return Named(file.name, CheckMappedSection("pool of packed weights",
                                             bytes.subspan(packed.pool_offset, packed.pool_bytes),
                                             packed.pool_checksum, mapping));
}

absl::StatusOr<std::optional<PackedModel>> ReadPackedModel(const ModelFile& file) {
  return Named(file.name, ReadPacked(file.mapping->bytes(), file.mapping.get(), file.mapping));
}

absl::StatusOr<std::optional<PackedModel>> ReadPackedModelFromBytes(
    absl::Span<const uint8_t> bytes, std::shared_ptr<const void> owner, absl::string_view name) {
  ASHLAR_RETURN_IF_ERROR(CheckAligned(bytes, name));
  return Named(name, ReadPacked(bytes, nullptr, std::move(owner)));
}

}  // namespace ashlar
