// Finds buffers that share bytes through `inside`, directly or through others (union-find).
#ifndef ASHLAR_MEMORY_PROBLEM_TIED_BUFFERS_H_
#define ASHLAR_MEMORY_PROBLEM_TIED_BUFFERS_H_

#include <vector>

#include "memory/problem/buffer.h"

namespace ashlar::memory {

// Returns for each buffer the first buffer that it is tied to, itself included. Relations must name
// buffers of the problem.
std::vector<int> FirstTied(const Problem& problem);

}  // namespace ashlar::memory

#endif  // ASHLAR_MEMORY_PROBLEM_TIED_BUFFERS_H_
