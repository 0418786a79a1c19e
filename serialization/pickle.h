// Reads the data of Python's pickle files, protocols 2 to 5: numbers, texts, lists, tuples and
// dictionaries. A pickle is a program for a stack machine, and some of its instructions import and
// call Python functions. This reader knows none of these: it names the first one and refuses the
// file. Source of the instructions: the comments of Python's pickletools module.
#ifndef ASHLAR_SERIALIZATION_PICKLE_H_
#define ASHLAR_SERIALIZATION_PICKLE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace ashlar {

// A value and all values inside it. Values may be inside several others, and inside themselves: who
// follows them bounds its depth and its work.
class Pickle {
 public:
  enum class Kind : uint8_t { kNone, kBool, kInteger, kFloat, kText, kBytes, kList, kTuple, kDict };
  using Id = uint32_t;  // of a value

  // The most values in a file. With them, the memory for a file is bounded: about 3 GiB.
  static constexpr size_t kMostValues = size_t{1} << 26;

  // Texts are not copied: `bytes` must outlive the result. InvalidArgument names `name`, the byte
  // and the instruction.
  static absl::StatusOr<Pickle> Read(absl::Span<const uint8_t> bytes, const std::string& name);

  Id root() const { return root_; }
  Kind kind(Id id) const { return values_[id].kind; }
  int64_t integer(Id id) const { return values_[id].number; }  // of kInteger and kBool
  absl::string_view text(Id id) const;                         // of kText and kBytes
  // The items of a list or tuple; keys and values by turns of a dictionary.
  absl::Span<const Id> items(Id id) const { return lists_[values_[id].at]; }
  // Returns the value of a key that is a text, or null. If `id` is no dictionary, null.
  const Id* Find(Id id, absl::string_view key) const;

 private:
  friend class PickleMachine;
  struct Value {
    Kind kind = Kind::kNone;
    uint32_t at = 0;     // of items in lists_, or the bytes of a text
    int64_t number = 0;  // an integer, or the place of a text in the file
  };

  absl::Span<const uint8_t> bytes_;
  std::vector<Value> values_;
  std::vector<std::vector<Id>> lists_;
  Id root_ = 0;
};

}  // namespace ashlar

#endif  // ASHLAR_SERIALIZATION_PICKLE_H_
