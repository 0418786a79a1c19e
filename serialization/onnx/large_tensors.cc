#include "serialization/onnx/large_tensors.h"

#include <cstdint>

namespace ashlar {
namespace {

enum class Wire { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };

struct WireField {
  uint64_t number = 0;
  Wire wire = Wire::kVarint;
  absl::string_view tag;      // bytes before the length
  absl::string_view content;  // of kBytes
  absl::string_view whole;
  bool IsBytes(uint64_t field) const { return number == field && wire == Wire::kBytes; }
};

// Reads the fields of a message in order.
class Fields {
 public:
  Fields(absl::string_view message, const LoadBytes& load) : left_(message), load_(load) {}

  bool Next(WireField& field) {
    if (left_.empty() || damaged_) return false;
    if (load_ && !load_(left_.substr(0, kMostTagBytes))) return Damaged();
    const absl::string_view begin = left_;
    uint64_t tag = 0, bytes = 0;
    if (!Varint(tag)) return Damaged();
    field.number = tag >> 3;
    field.wire = static_cast<Wire>(tag & 7);
    field.tag = begin.substr(0, begin.size() - left_.size());
    switch (field.wire) {
      case Wire::kVarint:
        if (!Varint(bytes)) return Damaged();
        bytes = 0;
        break;
      case Wire::kFixed64:
        bytes = 8;
        break;
      case Wire::kFixed32:
        bytes = 4;
        break;
      case Wire::kBytes:
        if (!Varint(bytes)) return Damaged();
        break;
      default:  // groups, which ONNX does not have
        return Damaged();
    }
    if (bytes > left_.size()) return Damaged();
    field.content = left_.substr(0, bytes);
    left_.remove_prefix(bytes);
    field.whole = begin.substr(0, begin.size() - left_.size());
    return true;
  }
  bool damaged() const { return damaged_; }

 private:
  static constexpr size_t kMostTagBytes = 20;  // with a length after it
  bool Damaged() {
    damaged_ = true;
    return false;
  }
  bool Varint(uint64_t& value) {
    constexpr size_t kMostBytes = 10;
    value = 0;
    for (size_t i = 0; i < kMostBytes && i < left_.size(); ++i) {
      const auto byte = static_cast<uint8_t>(left_[i]);
      value |= static_cast<uint64_t>(byte & 0x7F) << (7 * i);
      if (byte < 0x80) {
        left_.remove_prefix(i + 1);
        return true;
      }
    }
    return false;
  }

  absl::string_view left_;
  const LoadBytes& load_;
  bool damaged_ = false;
};

std::string VarintOf(uint64_t value) {
  std::string bytes;
  for (; value >= 0x80; value >>= 7) bytes.push_back(static_cast<char>(value | 0x80));
  bytes.push_back(static_cast<char>(value));
  return bytes;
}

// Pieces of a message, neighbours joined.
struct Pieces {
  std::vector<absl::string_view> views;
  size_t bytes = 0;

  void Add(absl::string_view view) {
    bytes += view.size();
    if (!views.empty() && views.back().data() + views.back().size() == view.data()) {
      views.back() = {views.back().data(), views.back().size() + view.size()};
    } else if (!view.empty()) {
      views.push_back(view);
    }
  }
};

// Numbers of ONNX's fields.
constexpr uint64_t kModelGraph = 7, kGraphNode = 1, kGraphInitializer = 5, kNodeOperator = 4,
                   kNodeAttribute = 5, kAttributeTensor = 5, kTensorFloats = 4, kTensorRaw = 9;

class Splitter {
 public:
  Splitter(size_t least_bytes, const LoadBytes& load, OnnxFileParts& parts)
      : least_bytes_(least_bytes), load_(load), parts_(parts) {}

  // Each of these adds a message to `out`, and returns false if the file stays as it is.
  bool Model(absl::string_view model, Pieces& out) {
    int graphs = 0;
    return ForFields(model, [&](const WireField& field) {
      if (!field.IsBytes(kModelGraph)) return Copy(field, out);
      return ++graphs == 1 && Inner(field, out, [&](Pieces& to) { return Graph(field, to); });
    });
  }

 private:
  template <typename Use>
  bool ForFields(absl::string_view message, const Use& use) const {
    Fields fields(message, load_);
    WireField field;
    while (fields.Next(field)) {
      if (!use(field)) return false;
    }
    return !fields.damaged();
  }
  static bool Copy(const WireField& field, Pieces& out) {
    out.Add(field.whole);
    return true;
  }
  // Adds a field whose message `split` makes, with its new length.
  template <typename Split>
  bool Inner(const WireField& field, Pieces& out, const Split& split) {
    Pieces inner;
    if (!split(inner)) return false;
    if (inner.bytes == field.content.size()) return Copy(field, out);
    out.Add(field.tag);
    out.Add(parts_.lengths.emplace_back(VarintOf(inner.bytes)));
    for (const absl::string_view view : inner.views) out.Add(view);
    return true;
  }

  bool Graph(const WireField& graph, Pieces& out) {
    int nodes = 0, initializers = 0;
    return ForFields(graph.content, [&](const WireField& field) {
      if (field.IsBytes(kGraphInitializer)) {
        const int index = initializers++;
        return Inner(field, out, [&](Pieces& to) {
          return Tensor(field, to, [&](LargeTensor found) {
            return parts_.initializers.emplace(index, found).second;
          });
        });
      }
      if (!field.IsBytes(kGraphNode)) return Copy(field, out);
      const int index = nodes++;
      if (field.content.size() < least_bytes_ || !IsConstant(field)) return Copy(field, out);
      return Inner(field, out, [&](Pieces& to) { return Node(field, index, to); });
    });
  }
  // Attributes of other nodes may be copied with the node, into the body of a function.
  bool IsConstant(const WireField& node) const {
    absl::string_view type;
    ForFields(node.content, [&](const WireField& field) {
      if (field.IsBytes(kNodeOperator)) type = field.content;
      return true;
    });
    return type == "Constant";
  }
  bool Node(const WireField& node, int index, Pieces& out) {
    int attributes = 0;
    return ForFields(node.content, [&](const WireField& field) {
      if (!field.IsBytes(kNodeAttribute)) return Copy(field, out);
      const std::pair<int, int> key(index, attributes++);
      return Inner(field, out, [&](Pieces& to) { return Attribute(field, key, to); });
    });
  }
  bool Attribute(const WireField& attribute, std::pair<int, int> key, Pieces& out) {
    int tensors = 0;
    return ForFields(attribute.content, [&](const WireField& field) {
      if (!field.IsBytes(kAttributeTensor)) return Copy(field, out);
      return ++tensors == 1 && Inner(field, out, [&](Pieces& to) {
        return Tensor(field, to, [&](LargeTensor found) {
          return parts_.attributes.emplace(key, found).second;
        });
      });
    });
  }
  // Leaves out the elements if one field holds them all.
  template <typename Found>
  bool Tensor(const WireField& tensor, Pieces& out, const Found& found) {
    int stored = 0;
    const char* apart = nullptr;
    const auto count = [&](const WireField& field) {
      const bool raw = field.IsBytes(kTensorRaw), floats = field.number == kTensorFloats;
      stored += raw || floats;
      const bool whole =
          raw || (field.IsBytes(kTensorFloats) && field.content.size() % sizeof(float) == 0);
      if (whole && field.content.size() >= least_bytes_) apart = field.whole.data();
      return true;
    };
    if (!ForFields(tensor.content, count)) return false;
    return ForFields(tensor.content, [&](const WireField& field) {
      if (stored != 1 || field.whole.data() != apart) return Copy(field, out);
      return found(LargeTensor{field.content, field.number == kTensorFloats});
    });
  }

  const size_t least_bytes_;
  const LoadBytes& load_;
  OnnxFileParts& parts_;
};

}  // namespace

OnnxFileParts FindLargeTensors(absl::string_view file, size_t least_bytes, const LoadBytes& load) {
  OnnxFileParts parts;
  Pieces pieces;
  if (Splitter(least_bytes, load, parts).Model(file, pieces)) {
    parts.messages = std::move(pieces.views);
  } else {
    parts = {};
    parts.messages = {file};
  }
  return parts;
}

}  // namespace ashlar
