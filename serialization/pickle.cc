#include "serialization/pickle.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_format.h"
#include "graph/status.h"
#include "serialization/reject.h"

namespace ashlar {
namespace {

// Instructions that data have no use for.
struct Refused {
  uint8_t code;
  const char* name;
  const char* why;
};

constexpr const char* kRuns = "imports or runs Python code, which this reader never does";
constexpr const char* kOutside = "refers to an object outside of the file";
constexpr const char* kOld = "is of protocol 0 or 1; write the file with protocol 2 or later";
constexpr const char* kSet = "makes a set, which no snapshot has";
constexpr Refused kRefused[] = {
    {'c', "GLOBAL", kRuns},
    {0x93, "STACK_GLOBAL", kRuns},
    {'R', "REDUCE", kRuns},
    {'b', "BUILD", kRuns},
    {'i', "INST", kRuns},
    {'o', "OBJ", kRuns},
    {0x81, "NEWOBJ", kRuns},
    {0x92, "NEWOBJ_EX", kRuns},
    {0x82, "EXT1", kRuns},
    {0x83, "EXT2", kRuns},
    {0x84, "EXT4", kRuns},
    {'P', "PERSID", kOutside},
    {'Q', "BINPERSID", kOutside},
    {0x97, "NEXT_BUFFER", kOutside},
    {0x98, "READONLY_BUFFER", kOutside},
    {0x8f, "EMPTY_SET", kSet},
    {0x90, "ADDITEMS", kSet},
    {0x91, "FROZENSET", kSet},
    {'I', "INT", kOld},
    {'L', "LONG", kOld},
    {'F', "FLOAT", kOld},
    {'S', "STRING", kOld},
    {'V', "UNICODE", kOld},
    {'l', "LIST", kOld},
    {'d', "DICT", kOld},
    {'p', "PUT", kOld},
    {'g', "GET", kOld},
};

}  // namespace

absl::string_view Pickle::text(Id id) const {
  const Value& value = values_[id];
  return {reinterpret_cast<const char*>(bytes_.data()) + value.number, value.at};
}

const Pickle::Id* Pickle::Find(Id id, absl::string_view key) const {
  if (kind(id) != Kind::kDict) return nullptr;
  const absl::Span<const Id> pairs = items(id);
  for (size_t i = pairs.size(); i >= 2; i -= 2) {  // of equal keys the last one counts
    if (kind(pairs[i - 2]) == Kind::kText && text(pairs[i - 2]) == key) return &pairs[i - 1];
  }
  return nullptr;
}

// The stack machine. Each instruction makes at most one value, and all loops are over instructions
// or over entries of the stack that they remove, so the work is linear in the file.
class PickleMachine {
 public:
  PickleMachine(absl::Span<const uint8_t> bytes, const std::string& name) : name_(name) {
    made_.bytes_ = bytes;
  }

  absl::StatusOr<Pickle> Run() {
    while (!stopped_) {
      start_ = at_;
      ASHLAR_ASSIGN_OR_RETURN(const uint64_t code, Number(1));
      ASHLAR_RETURN_IF_ERROR(Step(static_cast<uint8_t>(code)));
      if (made_.values_.size() > Pickle::kMostValues) {
        return Wrong("more than ", Pickle::kMostValues, " values");
      }
    }
    if (at_ != made_.bytes_.size()) return Wrong("more bytes after the end of the data");
    return std::move(made_);
  }

 private:
  using Id = Pickle::Id;
  using Kind = Pickle::Kind;

  template <typename... Parts>
  absl::Status Wrong(const Parts&... parts) const {
    return Reject(name_, ": byte ", start_, ": ", parts...);
  }

  // Reads a little-endian number.
  absl::StatusOr<uint64_t> Number(int bytes) {
    if (made_.bytes_.size() - at_ < static_cast<size_t>(bytes)) return Wrong("the file ends early");
    uint64_t number = 0;
    for (int i = 0; i < bytes; ++i) number |= uint64_t{made_.bytes_[at_++]} << (8 * i);
    return number;
  }

  absl::Status Push(Kind kind, int64_t number, size_t at = 0) {
    stack_.push_back(static_cast<Id>(made_.values_.size()));
    made_.values_.push_back({kind, static_cast<uint32_t>(at), number});
    return absl::OkStatus();
  }

  absl::Status PushNone(int) { return Push(Kind::kNone, 0); }
  absl::Status PushBool(int value) { return Push(Kind::kBool, value); }

  absl::Status PushNumber(int bytes) {
    ASHLAR_ASSIGN_OR_RETURN(const uint64_t number, Number(bytes));
    return Push(Kind::kInteger,
                bytes == 4 ? static_cast<int32_t>(number) : static_cast<int64_t>(number));
  }

  absl::Status PushFloat(int bytes) {
    ASHLAR_ASSIGN_OR_RETURN(const uint64_t bits, Number(bytes));
    return Push(Kind::kFloat, static_cast<int64_t>(bits));
  }

  // Pushes an integer of any length whose length stands before it.
  absl::Status PushLong(int length_bytes) {
    ASHLAR_ASSIGN_OR_RETURN(const uint64_t length, Number(length_bytes));
    if (length > 8) return Wrong("an integer of ", length, " bytes; at most 8 are read");
    ASHLAR_ASSIGN_OR_RETURN(uint64_t number, Number(static_cast<int>(length)));
    if (length > 0 && length < 8 && (number >> (8 * length - 1) & 1) != 0) {
      number |= ~uint64_t{0} << (8 * length);
    }
    return Push(Kind::kInteger, static_cast<int64_t>(number));
  }

  absl::Status PushSpan(Kind kind, int length_bytes) {
    ASHLAR_ASSIGN_OR_RETURN(const uint64_t length, Number(length_bytes));
    if (length > made_.bytes_.size() - at_) return Wrong("the file ends inside a text");
    if (length > std::numeric_limits<uint32_t>::max()) return Wrong("a text of ", length, " bytes");
    const auto begin = static_cast<int64_t>(at_);
    at_ += length;
    return Push(kind, begin, length);
  }

  absl::Status PushText(int length_bytes) { return PushSpan(Kind::kText, length_bytes); }
  absl::Status PushBytes(int length_bytes) { return PushSpan(Kind::kBytes, length_bytes); }

  absl::Status PushItems(Kind kind, std::vector<Id> items) {
    made_.lists_.push_back(std::move(items));
    return Push(kind, 0, made_.lists_.size() - 1);
  }

  // Removes and returns the entries above a place of the stack.
  std::vector<Id> Above(size_t place) {
    std::vector<Id> items(stack_.begin() + static_cast<int64_t>(place), stack_.end());
    stack_.resize(place);
    return items;
  }

  // Removes the last mark, and returns the entries above it.
  absl::StatusOr<std::vector<Id>> AboveMark() {
    if (marks_.empty()) return Wrong("no mark is on the stack");
    const size_t mark = marks_.back();
    marks_.pop_back();
    return Above(mark);
  }

  // Returns whether the stack has this many entries above the last mark.
  bool Has(size_t count) const {
    return stack_.size() - (marks_.empty() ? 0 : marks_.back()) >= count;
  }
  absl::Status TooFew() const { return Wrong("too few values are on the stack"); }

  absl::StatusOr<std::vector<Id>> Last(size_t count) {
    if (!Has(count)) return TooFew();
    return Above(stack_.size() - count);
  }

  absl::Status PushEmpty(int kind) { return PushItems(static_cast<Kind>(kind), {}); }

  absl::Status PushTuple(int count) {
    ASHLAR_ASSIGN_OR_RETURN(std::vector<Id> items, Last(static_cast<size_t>(count)));
    return PushItems(Kind::kTuple, std::move(items));
  }

  absl::Status PushMarkedTuple(int) {
    ASHLAR_ASSIGN_OR_RETURN(std::vector<Id> items, AboveMark());
    return PushItems(Kind::kTuple, std::move(items));
  }

  // Adds items to the list or dictionary below them.
  absl::Status Extend(Kind kind, absl::StatusOr<std::vector<Id>> items) {
    if (!items.ok()) return items.status();
    if (!Has(1)) return TooFew();
    if (made_.kind(stack_.back()) != kind) {
      return Wrong("items for a value that is no ", kind == Kind::kDict ? "dictionary" : "list");
    }
    if (kind == Kind::kDict && items->size() % 2 != 0) return Wrong("a key without a value");
    std::vector<Id>& all = made_.lists_[made_.values_[stack_.back()].at];
    all.insert(all.end(), items->begin(), items->end());
    return absl::OkStatus();
  }

  absl::Status Append(int count) { return Extend(Kind::kList, Last(static_cast<size_t>(count))); }
  absl::Status AppendMarked(int) { return Extend(Kind::kList, AboveMark()); }
  absl::Status SetItem(int count) { return Extend(Kind::kDict, Last(static_cast<size_t>(count))); }
  absl::Status SetMarked(int) { return Extend(Kind::kDict, AboveMark()); }

  absl::Status Store(uint64_t index) {
    if (!Has(1)) return TooFew();
    memo_[index] = stack_.back();
    return absl::OkStatus();
  }

  absl::Status Put(int bytes) {
    ASHLAR_ASSIGN_OR_RETURN(const uint64_t index, Number(bytes));
    return Store(index);
  }

  absl::Status Memoize(int) { return Store(memo_.size()); }

  absl::Status Get(int bytes) {
    ASHLAR_ASSIGN_OR_RETURN(const uint64_t index, Number(bytes));
    const auto found = memo_.find(index);
    if (found == memo_.end()) return Wrong("value ", index, " was never stored");
    stack_.push_back(found->second);
    return absl::OkStatus();
  }

  absl::Status Protocol(int) {
    ASHLAR_ASSIGN_OR_RETURN(const uint64_t version, Number(1));
    if (version < 2 || version > 5) return Wrong("protocol ", version, ", expected 2 to 5");
    return absl::OkStatus();
  }

  // A frame only says how many bytes may be read at once.
  absl::Status Frame(int) {
    ASHLAR_ASSIGN_OR_RETURN(const uint64_t length, Number(8));
    if (length > made_.bytes_.size() - at_) return Wrong("the file ends inside a frame");
    return absl::OkStatus();
  }

  absl::Status Pop(int) {
    if (!Has(1)) {
      // Above a mark there may be nothing else to remove: then the mark goes, as in Python.
      return marks_.empty() ? TooFew() : AboveMark().status();
    }
    stack_.pop_back();
    return absl::OkStatus();
  }

  absl::Status PopMark(int) { return AboveMark().status(); }

  absl::Status Duplicate(int) {
    if (!Has(1)) return TooFew();
    stack_.push_back(stack_.back());
    return absl::OkStatus();
  }

  absl::Status Mark(int) {
    marks_.push_back(stack_.size());
    return absl::OkStatus();
  }

  absl::Status Stop(int) {
    if (!Has(1) || !marks_.empty()) return Wrong("the end of the data, without one value");
    made_.root_ = stack_.back();
    stopped_ = true;
    return absl::OkStatus();
  }

  absl::Status Refuse(uint8_t code) const {
    for (const Refused& one : kRefused) {
      if (one.code != code) continue;
      return Wrong("instruction ", one.name, NamedFunction(code), " ", one.why);
    }
    return Wrong(absl::StrFormat("0x%02x is no instruction of a pickle", code));
  }

  // Returns the function that an instruction would import.
  std::string NamedFunction(uint8_t code) const {
    absl::string_view module, function;
    if (code == 0x93 && Has(2)) {
      const Id last = stack_.back(), before = stack_[stack_.size() - 2];
      if (made_.kind(last) != Kind::kText || made_.kind(before) != Kind::kText) return "";
      module = made_.text(before), function = made_.text(last);
    } else if (code == 'c' || code == 'i') {
      const absl::string_view rest(reinterpret_cast<const char*>(made_.bytes_.data()) + at_,
                                   std::min<size_t>(made_.bytes_.size() - at_, 200));
      const size_t first = rest.find('\n'), second = rest.find('\n', first + 1);
      if (first == rest.npos || second == rest.npos) return "";
      module = rest.substr(0, first), function = rest.substr(first + 1, second - first - 1);
    } else {
      return "";
    }
    return absl::StrCat(" (", absl::CHexEscape(module.substr(0, 60)), ".",
                        absl::CHexEscape(function.substr(0, 60)), ")");
  }

  absl::Status Step(uint8_t code) {
    struct Instruction {
      uint8_t code;
      absl::Status (PickleMachine::*run)(int);
      int argument = 0;  // bytes of a number or a length in the file, or a count of items
    };
    using M = PickleMachine;
    constexpr int kList = static_cast<int>(Kind::kList), kDict = static_cast<int>(Kind::kDict);
    static constexpr Instruction kInstructions[] = {
        {0x80, &M::Protocol},
        {0x95, &M::Frame},
        {'.', &M::Stop},
        {'(', &M::Mark},
        {'0', &M::Pop},
        {'1', &M::PopMark},
        {'2', &M::Duplicate},
        {'N', &M::PushNone},
        {0x88, &M::PushBool, 1},
        {0x89, &M::PushBool, 0},
        {'K', &M::PushNumber, 1},
        {'M', &M::PushNumber, 2},
        {'J', &M::PushNumber, 4},
        {0x8a, &M::PushLong, 1},
        {0x8b, &M::PushLong, 4},
        {'G', &M::PushFloat, 8},
        {'U', &M::PushText, 1},
        {0x8c, &M::PushText, 1},
        {'T', &M::PushText, 4},
        {'X', &M::PushText, 4},
        {0x8d, &M::PushText, 8},
        {'C', &M::PushBytes, 1},
        {'B', &M::PushBytes, 4},
        {0x8e, &M::PushBytes, 8},
        {0x96, &M::PushBytes, 8},
        {']', &M::PushEmpty, kList},
        {'}', &M::PushEmpty, kDict},
        {')', &M::PushTuple},
        {0x85, &M::PushTuple, 1},
        {0x86, &M::PushTuple, 2},
        {0x87, &M::PushTuple, 3},
        {'t', &M::PushMarkedTuple},
        {'a', &M::Append, 1},
        {'e', &M::AppendMarked},
        {'s', &M::SetItem, 2},
        {'u', &M::SetMarked},
        {'q', &M::Put, 1},
        {'r', &M::Put, 4},
        {0x94, &M::Memoize},
        {'h', &M::Get, 1},
        {'j', &M::Get, 4},
    };
    for (const Instruction& one : kInstructions) {
      if (one.code == code) return (this->*one.run)(one.argument);
    }
    return Refuse(code);
  }

  const std::string& name_;
  Pickle made_;
  size_t at_ = 0, start_ = 0;  // bytes; start_: of the present instruction
  std::vector<Id> stack_;
  std::vector<size_t> marks_;  // stack sizes
  absl::flat_hash_map<uint64_t, Id> memo_;
  bool stopped_ = false;
};

absl::StatusOr<Pickle> Pickle::Read(absl::Span<const uint8_t> bytes, const std::string& name) {
  return PickleMachine(bytes, name).Run();
}

}  // namespace ashlar
