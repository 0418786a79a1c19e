// A plan as a picture.
#ifndef ASHLAR_MEMORY_SVG_H_
#define ASHLAR_MEMORY_SVG_H_

#include <cstdint>
#include <ostream>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "memory/buffer.h"

namespace ashlar::memory {

struct SvgOptions {
  std::string title = {};
  // The name of each buffer, any bytes; ids where it is empty.
  std::vector<std::string> names = {};
  // Whether a buffer is a kernel's workspace, drawn apart from tensors; empty: none is.
  std::vector<bool> workspaces = {};
  int64_t lower_bound = 0;  // Bytes; drawn as a line if positive.
  // With more buffers the picture shows how full each spot is instead, and boxes of large ones.
  int max_boxes = 20000;
};

// Draws a plan as one self-contained SVG: steps across, addresses up, one box
// for each buffer with its name, size and lifetime on hover, and the name in it
// where there is room; a legend. InvalidArgument if the sizes of plan, names,
// workspaces and problem differ.
absl::Status WriteSvg(const Problem& problem, const Plan& plan, const SvgOptions& options,
                      std::ostream& out);

// `text` as XML character data: markup escaped, control characters and what is
// not UTF-8 replaced.
std::string EscapeXml(const std::string& text);

}  // namespace ashlar::memory

#endif  // ASHLAR_MEMORY_SVG_H_
