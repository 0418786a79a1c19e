#include "serialization/npz.h"

#include <zlib.h>

#include <cstring>
#include <set>

#include "absl/strings/match.h"
#include "graph/status.h"
#include "serialization/crc32.h"
#include "serialization/file_writer.h"
#include "serialization/mapped_file.h"
#include "serialization/npy.h"
#include "serialization/reject.h"

namespace ashlar {
namespace {

// The records of APPNOTE.TXT (PKWARE) that an archive of arrays needs, in their layout in the file.
struct __attribute__((packed)) LocalHeader {
  uint32_t signature = 0x04034b50;
  uint16_t version = 20, flags = kUtf8, method = 0, time = 0, date = kDate;
  uint32_t crc = 0, compressed_bytes = 0, bytes = 0;
  uint16_t name_bytes = 0, extra_bytes = 0;

  static constexpr uint16_t kUtf8 = 1 << 11;
  static constexpr uint16_t kDate = 1 << 5 | 1;  // 1980-01-01: equal arrays give equal files
};

struct __attribute__((packed)) CentralHeader {
  uint32_t signature = 0x02014b50;
  uint16_t made_by = 20, version = 20, flags = LocalHeader::kUtf8, method = 0, time = 0,
           date = LocalHeader::kDate;
  uint32_t crc = 0, compressed_bytes = 0, bytes = 0;
  uint16_t name_bytes = 0, extra_bytes = 0, comment_bytes = 0, disk = 0, attributes = 0;
  uint32_t external_attributes = 0, local_offset = 0;
};

struct __attribute__((packed)) EndRecord {
  uint32_t signature = 0x06054b50;
  uint16_t disk = 0, directory_disk = 0, entries_here = 0, entries = 0;
  uint32_t directory_bytes = 0, directory_offset = 0;
  uint16_t comment_bytes = 0;
};

constexpr uint16_t kEncrypted = 1;
constexpr uint16_t kDeflated = 8;          // a compression method
constexpr uint32_t kMostInflation = 1032;  // deflate's limit: 258 bytes from two bits
constexpr uint32_t kZip64 = 0xffffffff;
constexpr absl::string_view kSuffix = ".npy";

// An entry's name is a value's name and never used as a path, because nothing is unpacked to disk.
// Exporters write values such as "/layer1/conv/Conv_output_0".
absl::Status CheckName(absl::string_view name) {
  if (name.size() < 0xffff && name.find('\0') == absl::string_view::npos) return absl::OkStatus();
  return Reject("entry name '", name.substr(0, 200), "' is too long or has a byte 0");
}

class Archive {
 public:
  explicit Archive(absl::Span<const uint8_t> bytes) : bytes_(bytes) {}

  absl::StatusOr<NamedTensors> Read() {
    ASHLAR_ASSIGN_OR_RETURN(const EndRecord end, FindEnd());
    NamedTensors tensors;
    std::set<std::string> names;
    size_t at = end.directory_offset;
    unread_bytes_ = bytes_.size();
    for (int i = 0; i < end.entries; ++i) {
      CentralHeader header;
      if (!Get(at, header) || header.signature != CentralHeader().signature) {
        return Reject("no directory entry ", i, " at byte ", at);
      }
      absl::string_view name;
      if (!GetText(at + sizeof(header), header.name_bytes, name)) {
        return Reject("directory entry ", i, " is truncated");
      }
      at += sizeof(header) + header.name_bytes + header.extra_bytes + header.comment_bytes;
      const std::string label = absl::StrCat("entry '", name.substr(0, 200), "'");
      ASHLAR_RETURN_IF_ERROR(CheckName(name));
      if (!absl::EndsWith(name, kSuffix)) return Reject(label, " is no .npy file");
      absl::StatusOr<absl::Span<const uint8_t>> content = Content(header, name);
      if (!content.ok()) return Annotate(content.status(), label);
      ASHLAR_ASSIGN_OR_RETURN(HostTensor tensor, ParseNpy(*content, label));
      std::string key(name.substr(0, name.size() - kSuffix.size()));
      if (!names.insert(key).second) return Reject(label, " is there twice");
      tensors.emplace_back(std::move(key), std::move(tensor));
    }
    return tensors;
  }

 private:
  template <typename Record>
  bool Get(size_t offset, Record& record) const {
    if (offset > bytes_.size() || sizeof(record) > bytes_.size() - offset) return false;
    std::memcpy(&record, bytes_.data() + offset, sizeof(record));
    return true;
  }
  bool GetText(size_t offset, size_t length, absl::string_view& text) const {
    if (offset > bytes_.size() || length > bytes_.size() - offset) return false;
    text = {reinterpret_cast<const char*>(bytes_.data()) + offset, length};
    return true;
  }

  // The end record is last in the file, except for a comment of at most 65535 bytes.
  absl::StatusOr<EndRecord> FindEnd() const {
    EndRecord end;
    for (size_t comment = 0; comment <= 0xffff; ++comment) {
      if (bytes_.size() < sizeof(end) + comment) break;
      Get(bytes_.size() - sizeof(end) - comment, end);
      if (end.signature != EndRecord().signature || end.comment_bytes != comment) continue;
      if (end.directory_offset == kZip64 || end.entries == 0xffff) {
        return Reject("a zip64 archive (4 GiB or more), expected a plain one");
      }
      if (end.disk != 0 || end.directory_disk != 0 || end.entries_here != end.entries) {
        return Reject("an archive in several parts");
      }
      return end;
    }
    return Reject("not a .npz file: no end record of a zip archive");
  }

  absl::StatusOr<absl::Span<const uint8_t>> Content(const CentralHeader& header,
                                                    absl::string_view name) {
    // Records are packed, so references cannot bind to their fields. Messages therefore get values
    // (+).
    if (header.flags & kEncrypted) return Reject("is encrypted");
    if (header.method != 0 && header.method != kDeflated) {
      return Reject("is compressed (method ", +header.method,
                    "); numpy.savez and savez_compressed write archives that can be read");
    }
    if (header.bytes == kZip64 || header.local_offset == kZip64) return Reject("is 4 GiB or more");
    if (header.method == 0 && header.bytes != header.compressed_bytes) {
      return Reject("is stored, but has ", +header.compressed_bytes, " bytes for ", +header.bytes);
    }
    LocalHeader local;
    absl::string_view local_name, text;
    const size_t name_at = header.local_offset + sizeof(local);
    if (!Get(header.local_offset, local) || local.signature != LocalHeader().signature ||
        !GetText(name_at, local.name_bytes, local_name) || local_name != name) {
      return Reject("has no header of its own at byte ", +header.local_offset);
    }
    if (!GetText(name_at + local.name_bytes + local.extra_bytes, header.compressed_bytes, text)) {
      return Reject("of ", +header.compressed_bytes, " bytes goes beyond the file of ",
                    bytes_.size());
    }
    // Entries that share bytes would let a small file decode to a large one.
    if (header.compressed_bytes > unread_bytes_) return Reject("overlaps others");
    unread_bytes_ -= header.compressed_bytes;
    if (header.method == kDeflated) {
      ASHLAR_RETURN_IF_ERROR(Inflate(text, header.bytes));
      text = {inflated_.data(), inflated_.size()};
    }
    if (const uint32_t crc = Crc32(0, text.data(), text.size()); crc != header.crc) {
      return Reject("has CRC-32 ", absl::Hex(crc), ", expected ", absl::Hex(header.crc));
    }
    return absl::MakeConstSpan(reinterpret_cast<const uint8_t*>(text.data()), text.size());
  }

  // Decompresses `bytes` bytes into inflated_.
  absl::Status Inflate(absl::string_view compressed, uint32_t bytes) {
    // Deflate cannot produce more than this; such an entry is an attempt to use up memory.
    if (bytes / kMostInflation > compressed.size()) {
      return Reject("has ", compressed.size(), " bytes for ", bytes);
    }
    inflated_.resize(bytes);
    z_stream stream = {};
    if (inflateInit2(&stream, -MAX_WBITS) != Z_OK) return Reject("cannot be decompressed");
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(compressed.data()));
    stream.avail_in = static_cast<uInt>(compressed.size());
    stream.next_out = reinterpret_cast<Bytef*>(inflated_.data());
    stream.avail_out = bytes;
    const int end = inflate(&stream, Z_FINISH);
    const bool whole = end == Z_STREAM_END && stream.avail_in == 0 && stream.avail_out == 0;
    inflateEnd(&stream);
    return whole ? absl::OkStatus()
                 : Reject("is damaged: it does not decompress to ", bytes, " bytes");
  }

  absl::Span<const uint8_t> bytes_;
  size_t unread_bytes_ = 0;
  std::string inflated_;  // of the current entry
};

absl::Status Write(const NamedTensors& tensors, FileWriter& file) {
  std::string directory;
  uint64_t offset = 0;
  std::set<std::string> names;
  for (const auto& [key, tensor] : tensors) {
    const std::string name = absl::StrCat(key, kSuffix);
    ASHLAR_RETURN_IF_ERROR(CheckName(name));
    if (!names.insert(name).second)
      return Reject("two arrays are named '", key.substr(0, 200), "'");
    const HostTensor elements = AsNpyElements(tensor);
    const std::string npy_header = NpyHeader(elements);
    const uint64_t bytes = npy_header.size() + elements.bytes();
    const uint64_t end = offset + sizeof(LocalHeader) + name.size() + bytes;
    if (end >= kZip64) return Reject("array '", key.substr(0, 200), "' ends beyond 4 GiB");

    CentralHeader central;
    central.crc = Crc32(Crc32(0, npy_header.data(), npy_header.size()), elements.raw(),
                        static_cast<size_t>(elements.bytes()));
    central.compressed_bytes = central.bytes = static_cast<uint32_t>(bytes);
    central.name_bytes = static_cast<uint16_t>(name.size());
    central.local_offset = static_cast<uint32_t>(offset);
    LocalHeader local;
    local.crc = central.crc;
    local.compressed_bytes = local.bytes = central.bytes;
    local.name_bytes = central.name_bytes;
    ASHLAR_RETURN_IF_ERROR(file.Write(&local, sizeof(local)));
    ASHLAR_RETURN_IF_ERROR(file.Write(name));
    ASHLAR_RETURN_IF_ERROR(file.Write(npy_header));
    ASHLAR_RETURN_IF_ERROR(file.Write(elements.raw(), elements.bytes()));
    directory.append(reinterpret_cast<const char*>(&central), sizeof(central));
    directory += name;
    offset = end;
  }
  if (tensors.size() >= 0xffff || offset + directory.size() >= kZip64) {
    return Reject(tensors.size(), " arrays of ", offset,
                  " bytes are more than a zip archive holds");
  }
  EndRecord end;
  end.entries_here = end.entries = static_cast<uint16_t>(tensors.size());
  end.directory_bytes = static_cast<uint32_t>(directory.size());
  end.directory_offset = static_cast<uint32_t>(offset);
  ASHLAR_RETURN_IF_ERROR(file.Write(directory));
  return file.Write(&end, sizeof(end));
}

}  // namespace

absl::StatusOr<NamedTensors> ParseNpz(absl::Span<const uint8_t> bytes, absl::string_view name) {
  absl::StatusOr<NamedTensors> tensors = Archive(bytes).Read();
  if (!tensors.ok()) return Annotate(tensors.status(), name);
  return tensors;
}

absl::StatusOr<NamedTensors> ReadNpz(const std::string& path) {
  ASHLAR_ASSIGN_OR_RETURN(std::shared_ptr<const MappedFile> file, MappedFile::OpenLoaded(path));
  return ParseNpz(file->bytes(), path);
}

absl::Status WriteNpz(const NamedTensors& tensors, const std::string& path) {
  ASHLAR_ASSIGN_OR_RETURN(std::unique_ptr<FileWriter> file, FileWriter::Create(path));
  if (const absl::Status status = Write(tensors, *file); !status.ok()) {
    // Errors of writing already name the path.
    return absl::IsInvalidArgument(status) ? Annotate(status, path) : status;
  }
  return file->Commit();
}

}  // namespace ashlar
