// Random networks with skips: tensors that are read again, at another resolution's end.
#ifndef ASHLAR_TESTS_SUPPORT_SKIP_NETWORKS_H_
#define ASHLAR_TESTS_SUPPORT_SKIP_NETWORKS_H_

#include <random>
#include <string>

#include "graph/graph.h"
#include "tests/support/graph_maker.h"

namespace ashlar::testing {

// Repeats each row and column, as detectors do before they join images of two sizes.
int AddDoubled(GraphMaker& maker, int x, const std::string& name = "");

struct SkipNetwork {
  int64_t levels = 3;    // resolutions, each half of the one before
  int64_t channels = 8;  // of the first
  int64_t rows = 32;     // of the input, columns as many
  bool sums = false;     // skips are added, and all levels have as many channels; or concatenated
  bool heads = false;    // every level has an output (a feature pyramid); or only the first
};

// Returns an encoder and a decoder (U-Net, Ronneberger et al. 2015; feature pyramid, Lin et al.
// 2017) with random weights: two convolutions a level and a pool, then an upsampling, a 1x1
// convolution, the skip and a convolution.
Graph MakeSkipNetwork(std::mt19937_64& random, const SkipNetwork& network);

// Returns a network of 2 to 4 levels.
SkipNetwork RandomSkipNetwork(std::mt19937_64& random);

}  // namespace ashlar::testing

#endif  // ASHLAR_TESTS_SUPPORT_SKIP_NETWORKS_H_
