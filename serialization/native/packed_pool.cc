#include "serialization/native/packed_pool.h"

#include <utility>

#include "graph/file_mapping.h"
#include "graph/status.h"
#include "serialization/checksum.h"
#include "serialization/file_reader.h"
#include "serialization/native/format.h"
#include "serialization/native/section.h"

namespace ashlar {
namespace {

constexpr size_t kPiece = 1 << 20;

class PackedPool final : public WeightSource {
 public:
  PackedPool(std::unique_ptr<const FileReader> file, const FileStamp& opened,
             const PackedHeader& header, bool has_checksum)
      : file_(std::move(file)), opened_(opened), header_(header), has_checksum_(has_checksum) {}

  const std::string& name() const override { return file_->path(); }
  Stamp opened() const override { return opened_; }
  absl::StatusOr<Stamp> CurrentStamp() const override { return file_->Stamp(); }

  absl::Status Read(int64_t offset, int64_t bytes, void* to) const override {
    return file_->Read(static_cast<int64_t>(header_.pool_offset) + offset, bytes, to);
  }

  int64_t ReadCached(int64_t offset, int64_t bytes, void* to) const override {
    return file_->ReadCached(static_cast<int64_t>(header_.pool_offset) + offset, bytes, to);
  }

  absl::Status Verify() const override {
    if (!has_checksum_) {
      return DamagedFile(absl::DataLossError(
          absl::StrCat(name(), ": was written to since it was opened, and has no checksums")));
    }
    const auto read = [&](size_t at, size_t bytes, void* to) {
      return Read(static_cast<int64_t>(at), static_cast<int64_t>(bytes), to);
    };
    ASHLAR_ASSIGN_OR_RETURN(const uint64_t checksum,
                            ChecksumOfReads(header_.pool_bytes, kPiece, read));
    if (checksum == header_.pool_checksum) return absl::OkStatus();
    return DamagedFile(absl::DataLossError(absl::StrCat(
        name(), ": was written to since it was opened: the pool of packed weights of ",
        header_.pool_bytes, " bytes at offset ", header_.pool_offset, " has the checksum ",
        absl::Hex(checksum), ", expected ", absl::Hex(header_.pool_checksum))));
  }

 private:
  const std::unique_ptr<const FileReader> file_;
  const FileStamp opened_;
  const PackedHeader header_;
  const bool has_checksum_;
};

}  // namespace

absl::StatusOr<std::shared_ptr<const WeightSource>> OpenPackedPool(const ModelFile& file) {
  const absl::Span<const uint8_t> bytes = file.mapping->bytes();
  ASHLAR_ASSIGN_OR_RETURN(const NativeHeader header, HeaderOf(bytes, file.mapping.get()));
  ASHLAR_ASSIGN_OR_RETURN(const PackedHeader packed,
                          PackedHeaderOf(bytes, header, file.mapping.get()));
  ASHLAR_ASSIGN_OR_RETURN(std::unique_ptr<const FileReader> reader, FileReader::Open(file.name));
  ASHLAR_ASSIGN_OR_RETURN(const FileStamp stamp, reader->Stamp());
  if (stamp != file.mapping->stamp()) {
    return DamagedFile(absl::DataLossError(absl::StrCat(
        file.name, ": is another file than the one that was opened, or was written to since")));
  }
  return std::make_shared<const PackedPool>(std::move(reader), stamp, packed, header.has_checksums);
}

}  // namespace ashlar
