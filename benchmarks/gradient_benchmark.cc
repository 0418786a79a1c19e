// Measures the gradients of the convolutions of ResNet-50, and of some of VGG-19 and MobileNetV2,
// next to the convolutions: GFLOP/s by layer. Filters are not constant, as in training.
//
//   gradient_benchmark [--batch N] [--threads N] [--seconds S] [--layer TEXT]
//
// Runs alternate, and the best of many is shown. After a gradient comes its rate relative to the
// forward pass. Batch normalisation and pooling are limited by memory: GB/s of the images that they
// read and write once.
#include <chrono>
#include <cstdio>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "benchmarks/arguments.h"
#include "benchmarks/resnet50_layers.h"
#include "opr/batch_norm_training.h"
#include "opr/convolution_backward_data.h"
#include "opr/convolution_backward_filter.h"
#include "opr/matrix_mul.h"
#include "opr/pooling_backward.h"
#include "runtime/cpu/cpu_device.h"
#include "runtime/device/device.h"

namespace ashlar {
namespace {

using benchmarks::Buffer;
using benchmarks::Layer;
using Clock = std::chrono::steady_clock;

constexpr Layer kOthers[] = {
    {"vgg 3x3 64 224", 64, 64, 224, 3, 1, false, 0},
    {"vgg 3x3 128 112", 128, 128, 112, 3, 1, false, 0},
    {"vgg 3x3 512 14", 512, 512, 14, 3, 1, false, 0},
    {"depthwise 96 s2", 96, 96, 112, 3, 2, false, 0, 96},
    {"depthwise 144", 144, 144, 56, 3, 1, false, 0, 144},
    {"depthwise 576", 576, 576, 14, 3, 1, false, 0, 576},
};

using Options = benchmarks::LayerOptions;

// An operator with its own tensors.
class Task {
 public:
  Task(const Operator& op, std::vector<TensorType> inputs, std::vector<TensorType> outputs,
       const Options& options, Device& device, bool last = false) {
    KernelRequest request;
    request.op = &op;
    request.inputs = std::move(inputs);
    request.outputs = std::move(outputs);
    request.constant.resize(request.inputs.size());
    request.host_values.resize(request.inputs.size());
    request.processor = device.processor();
    request.threads = options.threads;
    request.policy.exact = true;
    KernelList kernels = *(*device.kernels().Find(op.type()))(request);
    kernel_ = std::move(last ? kernels.back() : kernels.front());
    const auto add = [&](int64_t bytes) {
      buffers_.push_back(std::make_unique<Buffer>(bytes));
      return buffers_.back()->data;
    };
    for (const TensorType& type : request.inputs) inputs_.push_back(add(type.bytes()));
    for (const TensorType& type : request.outputs) outputs_.push_back(add(type.bytes()));
    add(kernel_->workspace_bytes());
  }

  void Run() {
    const Clock::time_point start = Clock::now();
    (void)kernel_->Run({inputs_, absl::MakeSpan(outputs_), buffers_.back()->data}, nullptr);
    best_ = std::min(best_, std::chrono::duration<double>(Clock::now() - start).count());
  }
  double best() const { return best_; }
  int64_t workspace() const { return buffers_.back()->bytes; }

 private:
  std::unique_ptr<Kernel> kernel_;
  std::vector<std::unique_ptr<Buffer>> buffers_;
  std::vector<const void*> inputs_;
  std::vector<void*> outputs_;
  double best_ = std::numeric_limits<double>::infinity();
};

void RunInTurn(absl::Span<Task> tasks, const Options& options) {
  const auto until = Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                        std::chrono::duration<double>(3 * options.seconds));
  for (int round = 0; round < 3 || Clock::now() < until; ++round) {
    for (Task& task : tasks) task.Run();
  }
}

// Prints the rates of a layer, its data gradient and its filter gradient, and optionally of the
// first two with low-workspace kernels. Each has `products` multiplications and additions.
void PrintRates(const std::string& name, int64_t products, absl::Span<const Task> tasks) {
  const auto rate = [&](const Task& task) {
    return 2e-9 * static_cast<double>(products) / task.best();
  };
  std::printf("%-20s forward %6.1f", name.c_str(), rate(tasks[0]));
  std::printf("  data %6.1f (%.2f)", rate(tasks[1]), rate(tasks[1]) / rate(tasks[0]));
  std::printf("  filter %6.1f (%.2f)", rate(tasks[2]), rate(tasks[2]) / rate(tasks[0]));
  if (tasks.size() > 3) {
    std::printf("  least workspace %6.1f %6.1f", rate(tasks[3]), rate(tasks[4]));
  }
  std::printf("  KiB");
  for (const Task& task : tasks) std::printf(" %ld", static_cast<long>(task.workspace() / 1024));
  std::printf("\n");
  std::fflush(stdout);
}

// Measures operators on one layer's output.
void MeasureImages(int64_t channels, int64_t size, const Options& options, Device& device) {
  const std::string name = absl::StrCat("images ", channels, "x", size);
  if (name.find(options.layer) == std::string::npos) return;
  const TensorType image{DType::kFloat32, {options.batch, channels, size, size}, Format::kNCHW16c};
  TensorType half = image;
  half.shape[2] = half.shape[3] = (size + 1) / 2;
  const TensorType one{DType::kFloat32, {channels}},
      statistic{DType::kFloat32, {1, channels, 1, 1}};
  const PoolingParam pool{.window_h = 3, .window_w = 3, .pad_h = 1, .pad_w = 1};
  const BatchNormTraining training(BatchNormParam{});
  const BatchNormBackward backward(BatchNormBackwardParam{});
  const PoolingForward pooling(pool);
  const PoolingBackward back(pool);
  device.UseThreads(options.threads);
  Task tasks[] = {{training, {image, one, one}, {image, statistic, statistic}, options, device},
                  {backward, {image, image, one, one, one}, {image, one, one}, options, device},
                  {pooling, {image}, {half}, options, device},
                  {back, {image, half}, {image}, options, device}};
  RunInTurn(absl::MakeSpan(tasks), options);
  const double bytes = static_cast<double>(image.bytes()), of_half = bytes / 4;
  const double moved[] = {2 * bytes, 3 * bytes, bytes + of_half, 2 * bytes + of_half};
  std::printf("%-20s", name.c_str());
  const char* const names[] = {"batch norm", "its gradient", "pooling", "its gradient"};
  for (int i = 0; i < 4; ++i) std::printf("  %s %5.1f", names[i], moved[i] / tasks[i].best() / 1e9);
  std::printf(" GB/s\n");
  std::fflush(stdout);
}

void Measure(const Layer& layer, const Options& options, Device& device) {
  ConvolutionParam param;
  param.stride_h = param.stride_w = layer.stride;
  param.pad_h = param.pad_w = layer.window / 2;
  ConvolutionParam back = param;
  const int64_t out_size = (layer.size - 1) / layer.stride + 1;
  // An output size does not determine an even input size, because of the stride.
  back.pad_h_end = back.pad_w_end =
      (out_size - 1) * layer.stride + layer.window - param.pad_h - layer.size;
  TensorType filter{DType::kFloat32, {layer.out, layer.in, layer.window, layer.window}};
  if (layer.groups > 1) {
    param.sparse = back.sparse = SparseMode::kGroup;
    filter.shape = {layer.groups, layer.out / layer.groups, layer.in / layer.groups, layer.window,
                    layer.window};
  }
  const Format format = layer.in < kChannelBlock ? Format::kDefault : Format::kNCHW16c;
  const TensorType src{DType::kFloat32, {options.batch, layer.in, layer.size, layer.size}, format};
  const TensorType dst{
      DType::kFloat32, {options.batch, layer.out, out_size, out_size}, Format::kNCHW16c};
  const ConvolutionForward forward(param);
  const ConvolutionBackwardData data(back);
  const ConvolutionBackwardFilter of_filter(param);
  device.UseThreads(options.threads);
  Task tasks[] = {{forward, {src, filter}, {dst}, options, device},
                  {data, {dst, filter}, {src}, options, device},
                  {of_filter, {src, dst, filter}, {filter}, options, device},
                  {forward, {src, filter}, {dst}, options, device, /*last=*/true},
                  {data, {dst, filter}, {src}, options, device, /*last=*/true}};
  RunInTurn(absl::MakeSpan(tasks), options);
  PrintRates(layer.name, options.batch * out_size * out_size * filter.shape.num_elements(), tasks);
}

// Measures a fully connected layer with weights [out, in].
void MeasureMatrix(int64_t in, int64_t out, const Options& options, Device& device) {
  const std::string name = absl::StrCat("fc ", in, "-", out);
  if (name.find(options.layer) == std::string::npos) return;
  const TensorType src{DType::kFloat32, {options.batch, in}}, weights{DType::kFloat32, {out, in}};
  const TensorType dst{DType::kFloat32, {options.batch, out}};
  const MatrixMul forward(MatrixMulParam{.transposeB = true}), data(MatrixMulParam{});
  const MatrixMul of_weights(MatrixMulParam{.transposeA = true});
  device.UseThreads(options.threads);
  Task tasks[] = {{forward, {src, weights}, {dst}, options, device},
                  {data, {dst, weights}, {src}, options, device},
                  {of_weights, {dst, src}, {weights}, options, device}};
  RunInTurn(absl::MakeSpan(tasks), options);
  PrintRates(name, options.batch * in * out, tasks);
}

int Main(int argc, char** argv) {
  Options options;
  options.batch = 8;
  options.seconds = 0.05;
  CLI::App app("Gradients of convolutions beside the convolutions: GFLOP/s by layer.",
               "gradient_benchmark");
  benchmarks::AddLayerOptions(app, options, "operator of a layer");
  if (const std::optional<int> exit_code = benchmarks::Parse(app, argc, argv)) return *exit_code;
  cpu::RegisterDevice();
  Device& device = **OpenDevice(CompNode());
  std::vector<Layer> layers(std::begin(benchmarks::kResNet50), std::end(benchmarks::kResNet50));
  layers.insert(layers.end(), std::begin(kOthers), std::end(kOthers));
  for (const Layer& layer : layers) {
    if (!options.Takes(layer.name)) continue;
    Measure(layer, options, device);
  }
  for (const auto& [in, out] : {std::pair{2048, 1000}, {4096, 4096}}) {
    MeasureMatrix(in, out, options, device);
  }
  for (const auto& [channels, size] : {std::pair{64, 112}, {256, 56}, {512, 28}, {2048, 7}}) {
    MeasureImages(channels, size, options, device);
  }
  return 0;
}

}  // namespace
}  // namespace ashlar

int main(int argc, char** argv) { return ashlar::Main(argc, argv); }
