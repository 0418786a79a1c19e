// The zoo: well-known networks with seeded weights, as frameworks export them (nothing fused).
//
// Input "data": [batch, 3, image, image] Float32 (tiling_chain: [batch, 1, 16, 16]). Output "prob":
// [batch, 1000], a softmax. If headless, output "features": the feature map that the classifier
// would read.
#ifndef ASHLAR_TOOLS_ZOO_ZOO_H_
#define ASHLAR_TOOLS_ZOO_ZOO_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "graph/graph.h"

namespace ashlar {

struct ZooOptions {
  int64_t batch = 1;
  int64_t image = 224;    // height and width, pixels
  uint64_t seed = 0;      // of the weights, which depend on nothing else
  bool headless = false;  // stop after the last convolution stage
};

// Build one network each; a file holds one family. InvalidArgument if the image is too small, or of
// a size that the classifier cannot take.
absl::StatusOr<Graph> BuildResNet18(const ZooOptions& options);
absl::StatusOr<Graph> BuildResNet50(const ZooOptions& options);
absl::StatusOr<Graph> BuildVgg19(const ZooOptions& options);
absl::StatusOr<Graph> BuildMobileNetV2(const ZooOptions& options);
absl::StatusOr<Graph> BuildSqueezeNet(const ZooOptions& options);
absl::StatusOr<Graph> BuildInceptionV1(const ZooOptions& options);
// Builds two convolutions of one channel, each followed by a pooling, at 16 x 16 pixels whatever
// `image` says. The output is "features". It is small enough to check its tiles by hand.
absl::StatusOr<Graph> BuildTilingChain(const ZooOptions& options);

struct ZooModel {
  const char* name;
  const char* summary;  // one line for --help
  absl::StatusOr<Graph> (*build)(const ZooOptions& options);
};

absl::Span<const ZooModel> ZooModels();

}  // namespace ashlar

#endif  // ASHLAR_TOOLS_ZOO_ZOO_H_
