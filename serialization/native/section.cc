#include "serialization/native/section.h"

#include "graph/status.h"

namespace ashlar {
namespace {

// A longer section is of a damaged file, or of a model that takes more in any case.
constexpr int64_t kMostCopied = 16 << 20;

}  // namespace

absl::StatusOr<Section> Section::Load(absl::Span<const uint8_t> bytes, const MappedFile* file) {
  Section section;
  section.bytes_ = bytes;
  const auto size = static_cast<int64_t>(bytes.size());
  if (file == nullptr) return section;
  if (size > kMostCopied) {
    ASHLAR_RETURN_IF_ERROR(file->Load(bytes.data(), size));
    return section;
  }
  section.copy_ = std::make_unique<uint8_t[]>(bytes.size());
  ASHLAR_RETURN_IF_ERROR(file->Read(bytes.data(), size, section.copy_.get()));
  section.bytes_ = {section.copy_.get(), bytes.size()};
  return section;
}

absl::StatusOr<NativeHeader> HeaderOf(absl::Span<const uint8_t> bytes, const MappedFile* file) {
  ASHLAR_ASSIGN_OR_RETURN(const Section front,
                          Section::Load(bytes.subspan(0, kNativeHeaderBytes), file));
  return DecodeHeader(front.bytes(), bytes.size());
}

absl::StatusOr<PackedHeader> PackedHeaderOf(absl::Span<const uint8_t> bytes,
                                            const NativeHeader& header, const MappedFile* file) {
  ASHLAR_ASSIGN_OR_RETURN(
      const Section front,
      Section::Load(bytes.subspan(header.packed_offset, sizeof(PackedHeader)), file));
  return DecodePackedHeader(front.bytes(), header);
}

}  // namespace ashlar
