#include "runtime/cuda/toolkit/conv_graph.h"

#include <utility>

#include "graph/status.h"

namespace ashlar::cuda {
namespace {

// Returns the largest alignment of an address `offset` bytes after an aligned one.
int64_t AlignmentBehind(int64_t offset) {
  int64_t alignment = kTensorAlignment;
  while (offset % alignment != 0) alignment /= 2;
  return alignment;
}

cudnnDataType_t DataType(DType dtype) {
  if (dtype == DType::kFloat16) return CUDNN_DATA_HALF;
  if (dtype == DType::kBFloat16) return CUDNN_DATA_BFLOAT16;
  return CUDNN_DATA_FLOAT;
}

Descriptor Tensor(int64_t id, cudnnDataType_t dtype, const Shape& shape,
                  const ImageStrides& strides, bool is_virtual,
                  int64_t alignment = kTensorAlignment) {
  const int64_t dims[] = {shape[0], shape[1], shape[2], shape[3]};
  const int64_t steps[] = {strides.n, strides.c, strides.h, strides.w};
  Descriptor tensor(CUDNN_BACKEND_TENSOR_DESCRIPTOR);
  tensor.Set(CUDNN_ATTR_TENSOR_DATA_TYPE, dtype)
      .SetAll<int64_t>(CUDNN_ATTR_TENSOR_DIMENSIONS, dims)
      .SetAll<int64_t>(CUDNN_ATTR_TENSOR_STRIDES, steps)
      .Set(CUDNN_ATTR_TENSOR_UNIQUE_ID, id)
      .Set(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, alignment)
      .Set(CUDNN_ATTR_TENSOR_IS_VIRTUAL, is_virtual)
      .Finalize();
  return tensor;
}

Descriptor Image(int64_t id, const TensorType& type) {
  return Tensor(id, DataType(type.dtype), type.shape, StridesOf(type), false);
}

Descriptor Source(const ConvProblem& problem) {
  return Tensor(kX, DataType(problem.src.dtype), problem.src.shape, problem.src_strides, false,
                AlignmentBehind(problem.src_offset_bytes()));
}

// Returns [K, C/groups, R, S], in the memory order of the images.
Descriptor Filter(const ConvProblem& problem) {
  const ConvolutionGeometry& g = problem.geometry;
  const TensorType filter = {problem.filter.dtype,
                             {g.groups * g.out_channels, g.in_channels, g.h.window, g.w.window},
                             problem.src.format};
  return Image(kW, filter);
}

Descriptor Convolution(const ConvProblem& problem) {
  const WindowAxis &h = problem.geometry.h, &w = problem.geometry.w;
  const int64_t strides[] = {h.stride, w.stride}, dilations[] = {h.dilation, w.dilation};
  const int64_t before[] = {h.pad_begin, w.pad_begin}, after[] = {h.pad_end, w.pad_end};
  Descriptor convolution(CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR);
  convolution.Set(CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, int64_t{2})
      .Set(CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_DATA_FLOAT)
      .Set(CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_CROSS_CORRELATION)  // flipped ones are packed so
      .SetAll<int64_t>(CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, strides)
      .SetAll<int64_t>(CUDNN_ATTR_CONVOLUTION_DILATIONS, dilations)
      .SetAll<int64_t>(CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, before)
      .SetAll<int64_t>(CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, after)
      .Finalize();
  return convolution;
}

// Returns the pointwise operation of an activation that a graph can express.
Descriptor ActivationOf(const ConvBiasParam& param) {
  Descriptor pointwise(CUDNN_BACKEND_POINTWISE_DESCRIPTOR);
  pointwise
      .Set(CUDNN_ATTR_POINTWISE_MODE, param.nonlineMode == ScalarFunction::kSigmoid
                                          ? CUDNN_POINTWISE_SIGMOID_FWD
                                          : CUDNN_POINTWISE_RELU_FWD)
      .Set(CUDNN_ATTR_POINTWISE_MATH_PREC, CUDNN_DATA_FLOAT);
  if (param.nonlineMode == ScalarFunction::kClamp) {
    pointwise.Set(CUDNN_ATTR_POINTWISE_RELU_LOWER_CLIP, param.parameters[0])
        .Set(CUDNN_ATTR_POINTWISE_RELU_UPPER_CLIP, param.parameters[1]);
  }
  pointwise.Finalize();
  return pointwise;
}

// A builder of chains of operations; the tensors between them are never in memory.
class GraphBuilder {
 public:
  GraphBuilder(const ConvProblem& problem, int operations, ConvGraph& graph)
      : problem_(problem), left_(operations), graph_(graph) {
    graph.parts.reserve(64);  // references to parts must stay valid
  }

  void AddConvolution() {
    const Descriptor& x = Keep(Source(problem_));
    const Descriptor& w = Keep(Filter(problem_));
    const Descriptor& y = Keep(NextOutput());
    const Descriptor& convolution = Keep(Convolution(problem_));
    Descriptor operation(CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR);
    operation.SetDescriptor(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC, convolution)
        .SetDescriptor(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X, x)
        .SetDescriptor(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W, w)
        .SetDescriptor(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y, y)
        .Set(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA, 1.0f)
        .Set(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA, 0.0f)
        .Finalize();
    graph_.tensors = {kX, kW, kY};
    Finish(std::move(operation), y);
  }

  void AddSum(ConvTensor id, const TensorType& type) {
    Descriptor add(CUDNN_BACKEND_POINTWISE_DESCRIPTOR);
    add.Set(CUDNN_ATTR_POINTWISE_MODE, CUDNN_POINTWISE_ADD)
        .Set(CUDNN_ATTR_POINTWISE_MATH_PREC, CUDNN_DATA_FLOAT)
        .Finalize();
    const Descriptor& addend = Keep(Image(id, type));
    graph_.tensors.push_back(id);
    AddPointwise(std::move(add), &addend);
  }

  void AddActivation() { AddPointwise(ActivationOf(problem_.param), nullptr); }

  std::vector<Descriptor> TakeOperations() { return std::move(operations_); }

 private:
  const Descriptor& Keep(Descriptor descriptor) {
    graph_.parts.push_back(std::move(descriptor));
    return graph_.parts.back();
  }

  // Returns the problem's output for the last operation, and a virtual tensor for others.
  Descriptor NextOutput() {
    if (--left_ == 0) return Image(kY, problem_.dst);
    return Tensor(100 + left_, CUDNN_DATA_FLOAT, problem_.dst.shape, StridesOf(problem_.dst), true);
  }

  void AddPointwise(Descriptor pointwise, const Descriptor* addend) {
    const Descriptor& kept = Keep(std::move(pointwise));
    const Descriptor& y = Keep(NextOutput());
    Descriptor operation(CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR);
    operation.SetDescriptor(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, kept)
        .SetDescriptor(CUDNN_ATTR_OPERATION_POINTWISE_XDESC, *last_);
    if (addend != nullptr) {
      operation.SetDescriptor(CUDNN_ATTR_OPERATION_POINTWISE_BDESC, *addend);
    }
    operation.SetDescriptor(CUDNN_ATTR_OPERATION_POINTWISE_YDESC, y).Finalize();
    Finish(std::move(operation), y);
  }

  void Finish(Descriptor operation, const Descriptor& output) {
    operations_.push_back(std::move(operation));
    last_ = &output;
  }

  const ConvProblem& problem_;
  int left_;
  ConvGraph& graph_;
  std::vector<Descriptor> operations_;
  const Descriptor* last_ = nullptr;
};

// The name is deprecated in favour of graphs that are made without a device.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
constexpr cudnnBackendAttributeName_t kGraphHandle = CUDNN_ATTR_OPERATIONGRAPH_HANDLE;
#pragma GCC diagnostic pop

}  // namespace

bool GraphTakes(const ConvProblem& problem) {
  const Format format = problem.src.format;
  const bool one_format =
      problem.dst.format == format && (!problem.z.has_value() || problem.z->format == format);
  const bool filter = format == Format::kNHWC ? problem.constant_filter : !problem.flipped();
  return one_format && filter;
}

bool GraphHasActivation(const ConvProblem& problem) {
  switch (problem.param.nonlineMode) {
    case ScalarFunction::kIdentity:
    case ScalarFunction::kRelu:
    case ScalarFunction::kSigmoid:
      return true;
    case ScalarFunction::kClamp:
      return problem.param.parameters[0] == 0;
    default:
      return false;
  }
}

absl::StatusOr<std::shared_ptr<const ConvGraph>> MakeConvGraph(const ConvProblem& problem,
                                                               GraphTail tail,
                                                               cudnnHandle_t handle) {
  const bool has_z = tail != GraphTail::kNone && problem.z.has_value();
  const bool has_bias = tail != GraphTail::kNone && problem.has_bias;
  const bool activates =
      tail == GraphTail::kAll && problem.param.nonlineMode != ScalarFunction::kIdentity;
  auto result = std::make_shared<ConvGraph>();
  GraphBuilder builder(problem, 1 + has_z + has_bias + activates, *result);
  builder.AddConvolution();
  // In the order of the library's own pattern: convolution, residual, bias, activation.
  if (has_z) builder.AddSum(kZTensor, *problem.z);
  if (has_bias) {
    builder.AddSum(kBiasTensor,
                   {problem.dst.dtype, {1, problem.dst.shape[1], 1, 1}, problem.dst.format});
  }
  if (activates) builder.AddActivation();
  std::vector<Descriptor> operations = builder.TakeOperations();
  result->graph.SetDescriptors(CUDNN_ATTR_OPERATIONGRAPH_OPS, operations);
  if (handle != nullptr) result->graph.Set(kGraphHandle, handle);
  result->graph.Finalize();
  for (Descriptor& operation : operations) result->parts.push_back(std::move(operation));
  ASHLAR_RETURN_IF_ERROR(result->graph.status());
  return std::shared_ptr<const ConvGraph>(std::move(result));
}

}  // namespace ashlar::cuda
