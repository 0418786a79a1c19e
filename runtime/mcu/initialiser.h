// Writes the structs of constants that C functions take as C initialisers: "{.batch = 1, .h =
// {...}}".
#ifndef ASHLAR_RUNTIME_MCU_INITIALISER_H_
#define ASHLAR_RUNTIME_MCU_INITIALISER_H_

#include <cstdint>
#include <string>
#include <type_traits>

#include "absl/strings/str_cat.h"
#include "runtime/mcu/shapes.h"

namespace ashlar::mcu {

// Returns e.g. "0x1.8p+1f", which every C99 compiler reads as the same number.
std::string FloatText(float value);

template <typename Struct>
std::string InitialiserOf(const Struct& value);

namespace internal {

// A visitor that writes the fields of a struct, and counts its 4-byte words.
struct FieldWriter {
  std::string text;

  void operator()(const char* name, int32_t value) { Add(name, absl::StrCat(value)); }
  void operator()(const char* name, float value) { Add(name, FloatText(value)); }
  template <size_t N>
  void operator()(const char* name, const int32_t (&values)[N]) {
    std::string list;
    for (const int32_t value : values) absl::StrAppend(&list, list.empty() ? "" : ", ", value);
    Add(name, absl::StrCat("{", list, "}"));
  }
  template <typename Struct>
  void operator()(const char* name, const Struct& value) {
    Add(name, InitialiserOf(value));
  }
  void Add(const char* name, const std::string& value) {
    absl::StrAppend(&text, text.empty() ? "." : ", .", name, " = ", value);
  }
};

struct WordCounter {
  size_t words = 0;

  template <typename Field>
  constexpr void operator()(const char*, const Field&) {
    words += sizeof(Field) / 4;
  }
};

template <typename Struct>
constexpr size_t WordsOf() {
  WordCounter counter;
  VisitFields(Struct{}, counter);
  return counter.words;
}

}  // namespace internal

template <typename Struct>
std::string InitialiserOf(const Struct& value) {
  static_assert(sizeof(Struct) == 4 * internal::WordsOf<Struct>(), "VisitFields leaves some out");
  internal::FieldWriter writer;
  VisitFields(value, writer);
  return absl::StrCat("{", writer.text, "}");
}

}  // namespace ashlar::mcu

#endif  // ASHLAR_RUNTIME_MCU_INITIALISER_H_
