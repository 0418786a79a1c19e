// A rectangle of time and bytes.
#ifndef ASHLAR_MEMORY_PROBLEM_RECT_H_
#define ASHLAR_MEMORY_PROBLEM_RECT_H_

#include <cstdint>

namespace ashlar::memory {

// A rectangle of a group: sections [begin, end) x bytes [bottom, top), relative to the group's
// base.
struct Rect {
  int32_t begin = 0;
  int32_t end = 0;
  int64_t bottom = 0;
  int64_t top = 0;
};

}  // namespace ashlar::memory

#endif  // ASHLAR_MEMORY_PROBLEM_RECT_H_
