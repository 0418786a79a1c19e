// Measures all CPU kernels for the convolutions of ResNet-50, and oneDNN's kernels: GFLOP/s by
// layer.
//
//   conv_benchmark [--batch N] [--threads N] [--cold] [--seconds S] [--layer TEXT]
//
// Kernels run alternately; the best of many runs is shown. --cold evicts the packed weights from
// the caches before each run, as in a network at batch 1.
#include <omp.h>
#include <x86intrin.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "benchmarks/arguments.h"
#include "benchmarks/onednn/convolution.h"
#include "benchmarks/resnet50_layers.h"
#include "opr/conv_bias.h"
#include "runtime/cpu/cpu_device.h"
#include "runtime/device/device.h"

namespace ashlar {
namespace {

using benchmarks::Buffer;
using benchmarks::kResNet50;
using benchmarks::Layer;
using Clock = std::chrono::steady_clock;

struct Options : benchmarks::LayerOptions {
  bool cold = false;
};

void Evict(const Buffer& buffer) {
  for (int64_t i = 0; i < buffer.bytes; i += 64) _mm_clflush(static_cast<char*>(buffer.data) + i);
  _mm_mfence();
}

struct Candidate {
  std::shared_ptr<const Kernel> kernel;
  std::unique_ptr<KernelState> state;
  std::unique_ptr<Buffer> weights, workspace;
  double best = 1e9;
};

// Prints one line, and returns the seconds of the best candidate.
double Measure(const Layer& layer, const Options& options, Device& device) {
  ConvBiasParam param;
  param.stride_h = param.stride_w = layer.stride;
  param.pad_h = param.pad_w = layer.window / 2;
  param.nonlineMode = ScalarFunction::kRelu;
  const ConvBiasForward op(param);
  const Format format = layer.in < 16 ? Format::kDefault : Format::kNCHW16c;
  const int64_t out_size = (layer.size - 1) / layer.stride + 1;
  KernelRequest request;
  request.op = &op;
  request.inputs = {{DType::kFloat32, {options.batch, layer.in, layer.size, layer.size}, format},
                    {DType::kFloat32, {layer.out, layer.in, layer.window, layer.window}},
                    {DType::kFloat32, {1, layer.out, 1, 1}}};
  request.outputs = {
      {DType::kFloat32, {options.batch, layer.out, out_size, out_size}, Format::kNCHW16c}};
  if (layer.residual) request.inputs.push_back(request.outputs[0]);
  request.constant = {false, true, true, false};
  request.constant.resize(request.inputs.size());
  request.host_values.resize(request.inputs.size());
  request.processor = device.processor();
  request.threads = options.threads;
  device.UseThreads(options.threads);
  omp_set_num_threads(options.threads);  // for oneDNN
  absl::StatusOr<KernelList> kernels = (*device.kernels().Find(op.type()))(request);
  const absl::StatusOr<cpu::ConvProblem> problem = cpu::ReadConvolution(request, param);
  if (!kernels.ok() || !problem.ok() || !onednn::AddOneDnnConvolutions(*problem, *kernels).ok())
    return 0;

  HostTensor filter = HostTensor::Zeros(DType::kFloat32, request.inputs[1].shape);
  for (int64_t i = 0; i < filter.num_elements(); ++i) filter.Set(i, (i % 7 - 3) / 64.0);
  const Buffer src(request.inputs[0].bytes()), bias(request.inputs[2].bytes()),
      dst(request.outputs[0].bytes());
  std::vector<Candidate> candidates;
  for (std::unique_ptr<Kernel>& kernel : *kernels) {
    Candidate candidate;
    candidate.kernel = std::move(kernel);
    const auto packing = candidate.kernel->packing(1);
    candidate.weights = std::make_unique<Buffer>(packing ? packing->bytes : filter.bytes());
    if (packing) {
      (void)candidate.kernel->Pack(1, filter, candidate.weights->data);
    } else {
      std::memcpy(candidate.weights->data, filter.raw(), filter.bytes());
    }
    candidate.workspace = std::make_unique<Buffer>(candidate.kernel->workspace_bytes());
    candidate.state = *candidate.kernel->NewState();
    candidates.push_back(std::move(candidate));
  }
  const Clock::time_point until =
      Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(
                         options.seconds * static_cast<double>(candidates.size())));
  for (int round = 0; round < 3 || Clock::now() < until; ++round) {
    for (Candidate& candidate : candidates) {
      const void* inputs[] = {src.data, candidate.weights->data, bias.data, dst.data};
      void* outputs[] = {dst.data};
      const KernelArgs args{absl::MakeConstSpan(inputs, request.inputs.size()),
                            absl::MakeSpan(outputs), candidate.workspace->data};
      for (int run = 0; run < 2; ++run) {
        if (options.cold) Evict(*candidate.weights);
        const Clock::time_point start = Clock::now();
        (void)candidate.kernel->Run(args, candidate.state.get());
        candidate.best =
            std::min(candidate.best, std::chrono::duration<double>(Clock::now() - start).count());
      }
    }
  }
  const double flop = 2.0 * static_cast<double>(options.batch * layer.out * out_size * out_size *
                                                layer.in * layer.window * layer.window);
  std::printf("%-20s x%d", layer.name, layer.count);
  double best = 1e9;
  for (const Candidate& candidate : candidates) {
    std::printf("  %6.1f %s", flop / candidate.best / 1e9,
                candidate.kernel->implementation().c_str());
    best = std::min(best, candidate.best);
  }
  std::printf("  (%.3f ms)\n", best * 1e3);
  std::fflush(stdout);
  return best;
}

int Main(int argc, char** argv) {
  Options options;
  CLI::App app("The convolutions of ResNet-50: GFLOP/s of every kernel, by layer.",
               "conv_benchmark");
  benchmarks::AddLayerOptions(app, options, "kernel of a layer");
  app.add_flag("--cold", options.cold, "packed weights out of the caches before each run");
  if (const std::optional<int> exit_code = benchmarks::Parse(app, argc, argv)) return *exit_code;
  cpu::RegisterDevice();
  Device& device = **OpenDevice(CompNode());
  double sum = 0;
  for (const Layer& layer : kResNet50) {
    if (!options.Takes(layer.name)) continue;
    sum += layer.count * Measure(layer, options, device);
  }
  std::printf("sum of the best, by their counts: %.3f ms\n", sum * 1e3);
  return 0;
}

}  // namespace
}  // namespace ashlar

int main(int argc, char** argv) { return ashlar::Main(argc, argv); }
