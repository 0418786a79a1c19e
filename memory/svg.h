// Draws a plan as a picture.
#ifndef ASHLAR_MEMORY_SVG_H_
#define ASHLAR_MEMORY_SVG_H_

#include <cstdint>
#include <ostream>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "memory/problem/buffer.h"

namespace ashlar::memory {

struct SvgOptions {
  std::string title = {};
  // The name of each buffer, any bytes; if empty, ids are shown.
  std::vector<std::string> names = {};
  // Whether each buffer is a kernel's workspace, drawn differently from tensors; empty: none is.
  std::vector<bool> workspaces = {};
  int64_t lower_bound = 0;  // bytes; drawn as a line if positive
  // Bytes above the arena for another one, whose buffers the problem and the plan have, too; drawn
  // as a line with this name if positive.
  int64_t above = 0;
  std::string above_name = {};
  // With more buffers, the picture shows how full each spot is, and boxes of large buffers only.
  int max_boxes = 20000;
};

// Draws a plan as one self-contained SVG: steps across, addresses up, and a legend. Each buffer is
// a box with its name, size and lifetime on hover, and its name inside if there is room.
// InvalidArgument if the sizes of plan, names, workspaces and problem differ.
absl::Status WriteSvg(const Problem& problem, const Plan& plan, const SvgOptions& options,
                      std::ostream& out);

}  // namespace ashlar::memory

#endif  // ASHLAR_MEMORY_SVG_H_
