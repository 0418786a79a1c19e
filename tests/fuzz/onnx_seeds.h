// ONNX models that the node cases lack: subgraphs, and sizes that depend on data.
#ifndef ASHLAR_TESTS_FUZZ_ONNX_SEEDS_H_
#define ASHLAR_TESTS_FUZZ_ONNX_SEEDS_H_

#include <string>
#include <vector>

namespace ashlar::testing {

std::vector<std::string> ModelsOfSubgraphsAndCounts();

}  // namespace ashlar::testing

#endif  // ASHLAR_TESTS_FUZZ_ONNX_SEEDS_H_
