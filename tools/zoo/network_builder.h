// Builds layers as frameworks name them, with seeded weights, on top of GraphBuilder.
#ifndef ASHLAR_TOOLS_ZOO_NETWORK_BUILDER_H_
#define ASHLAR_TOOLS_ZOO_NETWORK_BUILDER_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "graph/graph.h"
#include "graph/graph_builder.h"
#include "graph/random.h"
#include "opr/pooling.h"
#include "tools/zoo/zoo.h"

namespace ashlar {

// A var and the expected moments of its elements, for images of independent standard normal pixels.
// Weights are scaled by these expectations, so that activations keep their size at any depth.
struct Feature {
  int var = 0;
  double mean = 0;
  double variance = 1;
};

struct ConvolutionShape {
  int64_t channels = 0;  // output channels
  int64_t kernel = 1;    // height and width
  int64_t stride = 1;
  int64_t padding = 0;
  bool depthwise = false;  // one filter a channel; `channels` equals the input's channels
};

// Methods return the output of a layer. After an error, further layers do nothing and Finish
// reports it.
class NetworkBuilder {
 public:
  // The deviation of logits: large enough that the best classes are distinct.
  static constexpr double kLogitDeviation = 2.5;
  // The gain of the last normalisation of a block with a shortcut: small, so that sums over many
  // blocks stay small.
  static constexpr double kResidualGain = 0.5;

  explicit NetworkBuilder(const ZooOptions& options);

  // Adds the graph's input "data".
  Feature Input(int64_t channels = 3);

  // Adds a convolution and the batch normalisation after it. Output: mean 0, variance gain^2.
  //
  // Every filter is standardised (Qiao et al. 2019, "Weight Standardization"): its weights sum to
  // 0. So outputs are centred for any mean of the inputs, and different images keep different
  // features.
  Feature ConvBatchNorm(const std::string& name, const std::string& norm_name, const Feature& x,
                        const ConvolutionShape& shape, double gain = 1);
  // Adds a convolution and an addition of its bias. Output: mean 0, variance gain^2.
  Feature ConvBias(const std::string& name, const Feature& x, const ConvolutionShape& shape,
                   double gain = 1);
  // Adds such a convolution and a ReLU.
  Feature ConvRelu(const std::string& name, const Feature& x, const ConvolutionShape& shape,
                   double gain = 1) {
    return Relu(name + ".relu", ConvBias(name, x, shape, gain));
  }
  // Adds a convolution alone. Output: mean 0, variance 1.
  Feature Conv(const std::string& name, const Feature& x, const ConvolutionShape& shape);
  Feature Relu(const std::string& name, const Feature& x);
  Feature Relu6(const std::string& name, const Feature& x);
  Feature Add(const std::string& name, const Feature& a, const Feature& b);
  Feature Concat(const std::string& name, absl::Span<const Feature> parts);  // along channels
  Feature LocalResponseNorm(const std::string& name, const Feature& x);

  Feature MaxPool(const std::string& name, const Feature& x, int64_t window, int64_t stride,
                  int64_t padding = 0);
  // Adds padding at the end if the last window would be cut off (ceil_mode).
  Feature MaxPoolCeil(const std::string& name, const Feature& x, int64_t window, int64_t stride);
  Feature AveragePool(const std::string& name, const Feature& x, int64_t window);
  Feature GlobalAveragePool(const std::string& name, const Feature& x);

  // Reshapes [N, C, H, W] to [N, C * H * W], by the shape arithmetic that exporters write.
  Feature Flatten(const std::string& name, const Feature& x);
  // Adds x * weight^T + bias. Output: [N, classes], mean 0, variance gain^2.
  Feature FullyConnected(const std::string& name, const Feature& x, int64_t classes,
                         double gain = 1);
  Feature Softmax(const std::string& name, const Feature& x);

  // Adds global average pooling, a fully connected layer and softmax: the end of most networks.
  Feature Classifier(const std::string& pool_name, const std::string& fc_name, const Feature& x);

  // Returns the shape [N, C, H, W] of a feature map.
  const Shape& shape(const Feature& x) const;

  // Names `x` as the graph's output `output` and finishes the graph.
  absl::StatusOr<Graph> Finish(const std::string& output, const Feature& x) &&;

 private:
  // Adds a node. Ids follow MegEngine, which numbers a workspace var of a convolution, pooling or
  // product.
  enum class Workspace { kNone, kNumbered };
  int AddNode(OperatorPtr op, std::vector<int> inputs, const std::string& name,
              Workspace workspace = Workspace::kNone);
  int Constant(const std::string& name, HostTensor value);
  int IntegerConstant(const std::string& name, int64_t value);
  // Returns filters of `taps` weights each, every one with mean 0 and the given Euclidean norm.
  HostTensor Filters(const Shape& shape, int64_t taps, double norm);
  int Convolution(const std::string& name, const Feature& x, const ConvolutionShape& shape,
                  double norm);
  // Adds a constant of Float32 values around `mean`.
  int Vector(const std::string& name, const Shape& shape, double mean, double deviation);
  Feature Pool(const std::string& name, const Feature& x, const PoolingParam& param);

  const ZooOptions options_;
  Random random_;
  GraphBuilder builder_;
  absl::Status status_;
};

}  // namespace ashlar

#endif  // ASHLAR_TOOLS_ZOO_NETWORK_BUILDER_H_
