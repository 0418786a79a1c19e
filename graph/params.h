// Operator parameters as data, for files, dumps and listings.
//
// An operator keeps its parameters in a plain struct and lists its fields once:
//
//   template <typename V>
//   void Visit(V& v) { v("stride_h", stride_h); v("mode", mode, kModeNames); }
//
// ToParams and FromParams use that list to print and to parse. `Optional` fields are printed only
// if they differ from their default, and may be missing in parsed lists.
#ifndef ASHLAR_GRAPH_PARAMS_H_
#define ASHLAR_GRAPH_PARAMS_H_

#include <cstdint>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace ashlar {

// Enumerations are written as bare names ("FUSE_ADD_RELU").
using ParamValue = std::variant<bool, int64_t, double, std::string, std::vector<int64_t>>;
using ParamList = std::vector<std::pair<std::string, ParamValue>>;

class ParamWriter {
 public:
  template <typename T>
  void operator()(absl::string_view name, const T& field) {
    list_.emplace_back(std::string(name), field);
  }
  template <typename E>
  void operator()(absl::string_view name, const E& field, absl::Span<const char* const> names) {
    list_.emplace_back(std::string(name), std::string(names[static_cast<size_t>(field)]));
  }
  template <typename T>
  void Optional(absl::string_view name, const T& field, const T& fallback) {
    if (!(field == fallback)) (*this)(name, field);
  }
  template <typename E>
  void Optional(absl::string_view name, const E& field, const E& fallback,
                absl::Span<const char* const> names) {
    if (!(field == fallback)) (*this)(name, field, names);
  }
  ParamList Take() { return std::move(list_); }

 private:
  ParamList list_;
};

// Writes fields as bytes. Operators of one type have equal bytes only if their parameters are
// equal.
class ParamBytes {
 public:
  explicit ParamBytes(std::string& bytes) : bytes_(bytes) {}

  template <typename T>
  void operator()(absl::string_view /*name*/, const T& field) {
    if constexpr (std::is_trivially_copyable_v<T>) {
      bytes_.append(reinterpret_cast<const char*>(&field), sizeof(field));
    } else {
      (*this)("", field.size());
      bytes_.append(reinterpret_cast<const char*>(field.data()), field.size() * sizeof(field[0]));
    }
  }
  template <typename E>
  void operator()(absl::string_view name, const E& field, absl::Span<const char* const> /*names*/) {
    (*this)(name, field);
  }
  template <typename T, typename... Names>
  void Optional(absl::string_view name, const T& field, const T& /*fallback*/, Names&&...) {
    (*this)(name, field);
  }

 private:
  std::string& bytes_;
};

class ParamReader {
 public:
  explicit ParamReader(const ParamList& list) : list_(list), used_(list.size(), false) {}

  template <typename T>
  void operator()(absl::string_view name, T& field) {
    if (!Read(name, field)) Fail(name, "is missing");
  }
  template <typename E>
  void operator()(absl::string_view name, E& field, absl::Span<const char* const> names) {
    std::string text;
    if (!Read(name, text)) return Fail(name, "is missing");
    for (size_t i = 0; i < names.size(); ++i) {
      if (text == names[i]) {
        field = static_cast<E>(i);
        return;
      }
    }
    Fail(name, absl::StrCat("has the unknown value '", text.substr(0, 64), "'"));
  }
  template <typename T>
  void Optional(absl::string_view name, T& field, const T& fallback) {
    if (!Read(name, field)) field = fallback;
  }
  template <typename E>
  void Optional(absl::string_view name, E& field, const E& fallback,
                absl::Span<const char* const> names) {
    if (Find(name) != list_.size()) {
      (*this)(name, field, names);
    } else {
      field = fallback;
    }
  }
  // Returns the first error, or an error for a parameter that was never read.
  absl::Status Finish() const;

 private:
  size_t Find(absl::string_view name) const {  // the number of parameters if there is none
    size_t i = 0;
    while (i < list_.size() && list_[i].first != name) ++i;
    return i;
  }
  template <typename T>
  bool Read(absl::string_view name, T& field) {
    const size_t i = Find(name);
    if (i == list_.size()) return false;
    used_[i] = true;
    if (const T* value = std::get_if<T>(&list_[i].second)) {
      field = *value;
      return true;
    }
    if constexpr (std::is_same_v<T, double>) {  // whole numbers are accepted for doubles
      if (const int64_t* whole = std::get_if<int64_t>(&list_[i].second)) {
        field = static_cast<double>(*whole);
        return true;
      }
    }
    Fail(name, "has the wrong type");
    return true;
  }
  void Fail(absl::string_view name, absl::string_view what);

  const ParamList& list_;
  std::vector<bool> used_;
  absl::Status status_;
};

template <typename Param>
ParamList ToParams(const Param& param) {
  ParamWriter writer;
  const_cast<Param&>(param).Visit(writer);  // a writer takes every field by const reference
  return writer.Take();
}

// Appends the bytes of ParamBytes.
template <typename Param>
void AppendParams(const Param& param, std::string& bytes) {
  ParamBytes writer(bytes);
  const_cast<Param&>(param).Visit(writer);  // as above
}

template <typename Param>
absl::StatusOr<Param> FromParams(const ParamList& list) {
  Param param;
  ParamReader reader(list);
  param.Visit(reader);
  if (absl::Status status = reader.Finish(); !status.ok()) return status;
  return param;
}

// "stride_h=2 mode=MAX", for listings and messages.
std::string ToString(const ParamList& params);

}  // namespace ashlar

#endif  // ASHLAR_GRAPH_PARAMS_H_
