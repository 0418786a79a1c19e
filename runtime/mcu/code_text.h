// The sources of c99/, for generated programs that include them.
#ifndef ASHLAR_RUNTIME_MCU_CODE_TEXT_H_
#define ASHLAR_RUNTIME_MCU_CODE_TEXT_H_

#include <cstddef>

namespace ashlar::mcu {

struct CodeText {
  const char* name;  // "conv8.c"
  const char* text;
};

extern const CodeText kCodeTexts[];
extern const size_t kNumCodeTexts;

}  // namespace ashlar::mcu

#endif  // ASHLAR_RUNTIME_MCU_CODE_TEXT_H_
