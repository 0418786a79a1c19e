// Reads operation graphs from their descriptors, and checks their consistency.
#include "tests/emulated_gpu/cudnn_graph.h"

#include <cudnn.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <set>
#include <string>

#include "tests/emulated_gpu/cudnn_descriptors.h"

namespace ashlar::emulated {
namespace {

std::optional<Number> NumberOf(cudnnDataType_t type) {
  if (type == CUDNN_DATA_FLOAT) return Number::kFloat;
  if (type == CUDNN_DATA_HALF) return Number::kHalf;
  if (type == CUDNN_DATA_BFLOAT16) return Number::kBFloat16;
  return std::nullopt;
}

const BackendDescriptor& Referred(const Call& call, const BackendDescriptor& descriptor,
                                  cudnnBackendAttributeName_t name) {
  return *DescriptorAt(call, descriptor.One<cudnnBackendDescriptor_t>(name));
}

std::array<int64_t, 2> Pair(const BackendDescriptor& descriptor, cudnnBackendAttributeName_t name) {
  const std::vector<int64_t> all = descriptor.All<int64_t>(name);
  return {all[0], all[1]};
}

class GraphReader {
 public:
  GraphReader(const Call& call, OperationGraph& graph) : call_(call), graph_(graph) {}

  cudnnStatus_t Read(const BackendDescriptor& operation) {
    const cudnnStatus_t status = operation.type == CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR
                                     ? ReadPointwise(operation)
                                     : ReadConvolution(operation);
    if (status != CUDNN_STATUS_SUCCESS) return status;
    const GraphOperation& read = graph_.operations.back();
    if (!written_.insert(read.y).second) return Refuse("a tensor is written twice");
    for (const int64_t id : {read.x, read.w}) {
      if (id != kNone && graph_.At(id).is_virtual && written_.count(id) == 0) {
        return Refuse("a virtual tensor is read before it is written");
      }
    }
    return CUDNN_STATUS_SUCCESS;
  }

 private:
  static constexpr int64_t kNone = std::numeric_limits<int64_t>::min();

  cudnnStatus_t Refuse(const char* what) const {
    call_.Misuse(what);
    return CUDNN_STATUS_BAD_PARAM;
  }

  // Returns the number of a tensor after adding it to the graph; nothing if it is not valid.
  std::optional<int64_t> Tensor(const BackendDescriptor& operation,
                                cudnnBackendAttributeName_t name) {
    const BackendDescriptor& descriptor = Referred(call_, operation, name);
    const std::vector<int64_t> dims = descriptor.All<int64_t>(CUDNN_ATTR_TENSOR_DIMENSIONS);
    const std::vector<int64_t> strides = descriptor.All<int64_t>(CUDNN_ATTR_TENSOR_STRIDES);
    const std::optional<Number> number =
        NumberOf(descriptor.One<cudnnDataType_t>(CUDNN_ATTR_TENSOR_DATA_TYPE));
    if (!number || dims.size() != 4) {
      call_.Misuse("a tensor of a type or a rank that is not emulated");
      return std::nullopt;
    }
    GraphTensor tensor = {*number,
                          {},
                          {},
                          descriptor.One<int64_t>(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT),
                          descriptor.One<bool>(CUDNN_ATTR_TENSOR_IS_VIRTUAL)};
    std::copy(dims.begin(), dims.end(), tensor.dims.begin());
    std::copy(strides.begin(), strides.end(), tensor.strides.begin());
    const int64_t id = descriptor.One<int64_t>(CUDNN_ATTR_TENSOR_UNIQUE_ID);
    const auto [it, is_new] = graph_.tensors.emplace(id, tensor);
    if (!is_new && !(it->second == tensor)) {
      call_.Misuse("two tensors with one number");
      return std::nullopt;
    }
    return id;
  }

  cudnnStatus_t ReadConvolution(const BackendDescriptor& operation) {
    const std::optional<int64_t> x = Tensor(operation, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X),
                                 w = Tensor(operation, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W),
                                 y = Tensor(operation, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y);
    if (!x || !w || !y) return CUDNN_STATUS_BAD_PARAM;
    const BackendDescriptor& geometry =
        Referred(call_, operation, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC);
    if (geometry.One<cudnnDataType_t>(CUDNN_ATTR_CONVOLUTION_COMP_TYPE) != CUDNN_DATA_FLOAT) {
      return Refuse("sums in another type than Float32");
    }
    if (geometry.One<int64_t>(CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS) != 2) {
      return Refuse("other than two spatial dimensions");
    }
    GraphOperation read = {GraphStep::kConvolution, *x, *w, *y};
    read.alpha = operation.Real(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA, 1);
    read.beta = operation.Real(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA, 0);
    read.strides = Pair(geometry, CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES);
    read.dilations = Pair(geometry, CUDNN_ATTR_CONVOLUTION_DILATIONS);
    read.before = Pair(geometry, CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS);
    read.after = Pair(geometry, CUDNN_ATTR_CONVOLUTION_POST_PADDINGS);
    read.flipped =
        geometry.One<cudnnConvolutionMode_t>(CUDNN_ATTR_CONVOLUTION_CONV_MODE) == CUDNN_CONVOLUTION;
    const GraphTensor &src = graph_.At(*x), &filter = graph_.At(*w), &dst = graph_.At(*y);
    if (read.beta != 0) return Refuse("a beta that is not 0 is not emulated");
    if (src.is_virtual || filter.is_virtual || src.number != filter.number) {
      return Refuse("input and filter that do not go together");
    }
    if (src.dims[1] % filter.dims[1] != 0 || filter.dims[0] % (src.dims[1] / filter.dims[1]) != 0) {
      return Refuse("channels that do not make whole groups");
    }
    std::array<int64_t, 4> expected = {src.dims[0], filter.dims[0], 0, 0};
    for (size_t i = 0; i < 2; ++i) {
      if (read.before[i] < 0 || read.after[i] < 0) return Refuse("negative padding");
      const int64_t window = (filter.dims[2 + i] - 1) * read.dilations[i] + 1;
      const int64_t room = src.dims[2 + i] + read.before[i] + read.after[i] - window;
      if (room < 0) return Refuse("a window that is larger than the image");
      expected[2 + i] = room / read.strides[i] + 1;
    }
    if (dst.dims != expected) return Refuse("an output of another size");
    graph_.operations.push_back(read);
    return CUDNN_STATUS_SUCCESS;
  }

  cudnnStatus_t ReadPointwise(const BackendDescriptor& operation) {
    const BackendDescriptor& pointwise =
        Referred(call_, operation, CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR);
    const std::optional<int64_t> x = Tensor(operation, CUDNN_ATTR_OPERATION_POINTWISE_XDESC),
                                 y = Tensor(operation, CUDNN_ATTR_OPERATION_POINTWISE_YDESC);
    if (!x || !y) return CUDNN_STATUS_BAD_PARAM;
    if (pointwise.One<cudnnDataType_t>(CUDNN_ATTR_POINTWISE_MATH_PREC) != CUDNN_DATA_FLOAT) {
      return Refuse("arithmetic in another type than Float32");
    }
    GraphOperation read = {GraphStep::kAdd, *x, kNone, *y};
    const auto mode = pointwise.One<cudnnPointwiseMode_t>(CUDNN_ATTR_POINTWISE_MODE);
    if (mode == CUDNN_POINTWISE_RELU_FWD) {
      read.step = GraphStep::kRelu;
      read.lower = pointwise.Real(CUDNN_ATTR_POINTWISE_RELU_LOWER_CLIP, 0);
      read.upper = pointwise.Real(CUDNN_ATTR_POINTWISE_RELU_UPPER_CLIP,
                                  std::numeric_limits<double>::infinity());
    } else if (mode == CUDNN_POINTWISE_SIGMOID_FWD) {
      read.step = GraphStep::kSigmoid;
    } else if (mode != CUDNN_POINTWISE_ADD) {
      return Refuse("a pointwise mode that is not emulated");
    }
    if ((read.step == GraphStep::kAdd) != operation.Has(CUDNN_ATTR_OPERATION_POINTWISE_BDESC)) {
      return Refuse("one operand too many, or too few");
    }
    if (read.step == GraphStep::kAdd) {
      const std::optional<int64_t> b = Tensor(operation, CUDNN_ATTR_OPERATION_POINTWISE_BDESC);
      if (!b) return CUDNN_STATUS_BAD_PARAM;
      read.w = *b;
    }
    const std::array<int64_t, 4>& dst = graph_.At(*y).dims;
    for (const int64_t id : {read.x, read.w}) {
      if (id == kNone) continue;
      const std::array<int64_t, 4>& dims = graph_.At(id).dims;
      for (size_t i = 0; i < 4; ++i) {
        if (dims[i] != dst[i] && dims[i] != 1) return Refuse("operands that do not broadcast");
      }
    }
    graph_.operations.push_back(read);
    return CUDNN_STATUS_SUCCESS;
  }

  const Call& call_;
  OperationGraph& graph_;
  std::set<int64_t> written_;
};

}  // namespace

int64_t GraphTensor::Reach() const {
  int64_t last = 0;
  for (size_t i = 0; i < 4; ++i) last += (dims[i] - 1) * strides[i];
  return last + 1;
}

bool GraphTensor::IsChannelsLast() const {
  return strides ==
         std::array<int64_t, 4>{dims[1] * dims[2] * dims[3], 1, dims[1] * dims[3], dims[1]};
}

bool GraphTensor::IsRowMajor() const {
  return strides ==
         std::array<int64_t, 4>{dims[1] * dims[2] * dims[3], dims[2] * dims[3], dims[3], 1};
}

bool GraphTensor::operator==(const GraphTensor& other) const {
  return number == other.number && dims == other.dims && strides == other.strides &&
         alignment == other.alignment && is_virtual == other.is_virtual;
}

cudnnStatus_t FinalizeTensor(const Call& call, BackendDescriptor& tensor) {
  const std::vector<int64_t> dims = tensor.All<int64_t>(CUDNN_ATTR_TENSOR_DIMENSIONS);
  const std::vector<int64_t> strides = tensor.All<int64_t>(CUDNN_ATTR_TENSOR_STRIDES);
  const auto positive = [](int64_t size) { return size > 0; };
  if (dims.size() != strides.size() || !std::all_of(dims.begin(), dims.end(), positive) ||
      !std::all_of(strides.begin(), strides.end(), positive)) {
    call.Misuse("dimensions and strides that do not go together");
    return CUDNN_STATUS_BAD_PARAM;
  }
  const int64_t alignment = tensor.One<int64_t>(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT);
  const std::optional<Number> number =
      NumberOf(tensor.One<cudnnDataType_t>(CUDNN_ATTR_TENSOR_DATA_TYPE));
  if (alignment <= 0 || (alignment & (alignment - 1)) != 0 ||
      (number && alignment % BytesOf(*number) != 0)) {
    call.Misuse("an alignment that the type does not have");
    return CUDNN_STATUS_BAD_PARAM;
  }
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t FinalizeConvolution(const Call& call, BackendDescriptor& convolution) {
  const int64_t rank = convolution.One<int64_t>(CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS);
  for (const auto name :
       {CUDNN_ATTR_CONVOLUTION_DILATIONS, CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES,
        CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, CUDNN_ATTR_CONVOLUTION_POST_PADDINGS}) {
    const std::vector<int64_t> all = convolution.All<int64_t>(name);
    const bool size =
        name == CUDNN_ATTR_CONVOLUTION_DILATIONS || name == CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES;
    if (static_cast<int64_t>(all.size()) == rank &&
        std::all_of(all.begin(), all.end(), [&](int64_t v) { return v >= (size ? 1 : 0); })) {
      continue;
    }
    call.Misuse("attribute " + std::to_string(name) + " is not one number for each dimension");
    return CUDNN_STATUS_BAD_PARAM;
  }
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t FinalizeOperationGraph(const Call& call, BackendDescriptor& descriptor) {
  auto graph = std::make_shared<OperationGraph>();
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
  graph->has_handle = descriptor.Has(CUDNN_ATTR_OPERATIONGRAPH_HANDLE);
#pragma GCC diagnostic pop
  GraphReader reader(call, *graph);
  for (const auto operation :
       descriptor.All<cudnnBackendDescriptor_t>(CUDNN_ATTR_OPERATIONGRAPH_OPS)) {
    const cudnnStatus_t status = reader.Read(*DescriptorAt(call, operation));
    if (status != CUDNN_STATUS_SUCCESS) return status;
  }
  const int64_t last = graph->operations.back().y;
  if (graph->At(last).is_virtual) {
    call.Misuse("the last tensor is virtual");
    return CUDNN_STATUS_BAD_PARAM;
  }
  descriptor.graph = std::move(graph);
  return CUDNN_STATUS_SUCCESS;
}

}  // namespace ashlar::emulated
