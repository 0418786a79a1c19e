// Measures the matrix products of ResNet, of ViT-B/16 and of an MLP with Ashlar's kernel and with
// oneDNN's: GFLOP/s of each and their ratio, one line a product.
//
//   matrix_mul_benchmark [--threads N] [--seconds S] [--only TEXT] [--markdown]
//
// Kernels run alternately, and the best run of each counts, so that other load affects all alike.
// With one thread processor time is measured, which excludes time when others had the core. oneDNN
// gets its weights packed beforehand in its own format.
#include <omp.h>
#include <time.h>

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
#include "benchmarks/onednn/matrix_mul.h"
#include "opr/matrix_mul.h"
#include "runtime/cpu/cpu_device.h"
#include "runtime/device/device.h"

namespace ashlar {
namespace {

using Clock = std::chrono::steady_clock;

// Returns the time of this thread, or wall time; seconds.
double Now(bool of_thread) {
  timespec time;
  clock_gettime(of_thread ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

struct Product {
  const char* name;
  int64_t batch, m, k, n;
  bool constant;     // B is a matrix of weights
  bool transpose_b;  // e.g. keys of attention
};

constexpr Product kProducts[] = {
    {"ResNet's classifier", 1, 1, 2048, 1000, true, false},
    {"ResNet's classifier, batch 10", 1, 10, 2048, 1000, true, false},
    {"ViT-B/16 projection", 1, 197, 768, 768, true, false},
    {"ViT-B/16 queries, keys, values", 1, 197, 768, 2304, true, false},
    {"ViT-B/16 MLP, first", 1, 197, 768, 3072, true, false},
    {"ViT-B/16 MLP, second", 1, 197, 3072, 768, true, false},
    {"ViT-B/16 classifier", 1, 1, 768, 1000, true, false},
    {"ViT-B/16 queries by keys", 12, 197, 64, 197, false, true},
    {"ViT-B/16 weights by values", 12, 197, 197, 64, false, false},
    {"MLP", 1, 128, 1024, 1024, true, false},
    {"MLP, batch 1", 1, 1, 1024, 1024, true, false},
    {"MLP, batch 8", 1, 8, 1024, 4096, true, false},
    {"two computed, 197x768x768", 1, 197, 768, 768, false, false},
    {"two computed, 512x512x512", 1, 512, 512, 512, false, false},
    {"two computed, B transposed", 1, 512, 512, 512, false, true},
    {"two computed, 1024x1024x1024", 1, 1024, 1024, 1024, false, false},
    {"two computed, 4 rows", 1, 4, 512, 512, false, false},
    {"two computed, small", 8, 16, 32, 48, false, false},
};

struct Options {
  int threads = 1;
  double seconds = 0.5;  // for a kernel
  std::string only;
  bool markdown = false;
};

struct Buffer {
  explicit Buffer(int64_t bytes) {
    data = std::aligned_alloc(4096, (std::max<int64_t>(bytes, 1) + 4095) / 4096 * 4096);
    float* const values = static_cast<float*>(data);
    for (int64_t i = 0; i < bytes / 4; ++i) values[i] = static_cast<float>(i % 13 - 6) / 16;
  }
  ~Buffer() { std::free(data); }
  Buffer(const Buffer&) = delete;
  void* data;
};

struct Candidate {
  std::unique_ptr<Kernel> kernel;
  std::unique_ptr<KernelState> state;
  std::unique_ptr<Buffer> weights, workspace;
  bool own = false;
  double best = 1e9;  // seconds
};

KernelRequest RequestFor(const Product& product, const MatrixMul& op, const Options& options,
                         Device& device) {
  const auto matrices = [&](int64_t rows, int64_t columns) -> TensorType {
    if (product.batch == 1) return {DType::kFloat32, {rows, columns}};
    return {DType::kFloat32, {product.batch, rows, columns}};
  };
  KernelRequest request;
  request.op = &op;
  request.inputs = {matrices(product.m, product.k), product.transpose_b
                                                        ? matrices(product.n, product.k)
                                                        : matrices(product.k, product.n)};
  request.outputs = {matrices(product.m, product.n)};
  request.constant = {false, product.constant};
  request.host_values = {nullptr, nullptr};
  request.processor = device.processor();
  request.threads = options.threads;
  return request;
}

// Prints one line; exits if a kernel fails.
void Measure(const Product& product, const Options& options, Device& device) {
  const auto check = [&](const absl::Status& status) {
    if (status.ok()) return;
    std::fprintf(stderr, "%s: %s\n", product.name, status.ToString().c_str());
    std::exit(1);
  };
  const MatrixMul op({.transposeB = product.transpose_b});
  const KernelRequest request = RequestFor(product, op, options, device);
  absl::StatusOr<KernelList> kernels = (*device.kernels().Find(op.type()))(request);
  check(kernels.status());
  const size_t own = kernels->size();
  check(onednn::AddOneDnnMatrixMul(request, *kernels));

  HostTensor b = HostTensor::Zeros(DType::kFloat32, request.inputs[1].shape);
  for (int64_t i = 0; i < b.num_elements(); ++i) b.Set(i, static_cast<double>(i % 7 - 3) / 64);
  const Buffer a(request.inputs[0].bytes()), c(request.outputs[0].bytes());
  std::vector<Candidate> candidates;
  for (std::unique_ptr<Kernel>& kernel : *kernels) {
    Candidate candidate;
    candidate.own = candidates.size() < own;
    candidate.kernel = std::move(kernel);
    const auto packing = product.constant ? candidate.kernel->packing(1) : std::nullopt;
    candidate.weights = std::make_unique<Buffer>(packing ? packing->bytes : b.bytes());
    if (packing) {
      check(candidate.kernel->Pack(1, b, candidate.weights->data));
    } else {
      std::memcpy(candidate.weights->data, b.raw(), b.bytes());
    }
    candidate.workspace = std::make_unique<Buffer>(candidate.kernel->workspace_bytes());
    auto state = candidate.kernel->NewState();
    check(state.status());
    candidate.state = *std::move(state);
    candidates.push_back(std::move(candidate));
  }
  const auto time = [&](Candidate& candidate) {
    const void* inputs[] = {a.data, candidate.weights->data};
    void* outputs[] = {c.data};
    const KernelArgs args{absl::MakeConstSpan(inputs), absl::MakeSpan(outputs),
                          candidate.workspace->data};
    const double start = Now(options.threads == 1);
    check(candidate.kernel->Run(args, candidate.state.get()));
    return Now(options.threads == 1) - start;
  };
  const Clock::time_point until =
      Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(
                         options.seconds * static_cast<double>(candidates.size())));
  for (int round = 0; round < 3 || Clock::now() < until; ++round) {
    for (Candidate& candidate : candidates) {
      for (int run = 0; run < 4; ++run) candidate.best = std::min(candidate.best, time(candidate));
    }
  }
  double best_own = 1e9, best_peer = 1e9;
  for (const Candidate& candidate : candidates) {
    double& best = candidate.own ? best_own : best_peer;
    best = std::min(best, candidate.best);
  }
  const double flop =
      2.0 * static_cast<double>(product.batch * product.m * product.k * product.n) / 1e9;
  const std::string shape =
      absl::StrCat(product.batch == 1 ? "" : absl::StrCat(product.batch, " x "), product.m, "x",
                   product.k, "x", product.n);
  std::printf(options.markdown ? "| %s | %s | %.3f | %.3f | %.1f | %.1f | %.2f |\n"
                               : "%-32s %-18s %9.3f ms %9.3f ms %7.1f %7.1f GFLOP/s  x %.2f\n",
              product.name, shape.c_str(), best_own * 1e3, best_peer * 1e3, flop / best_own,
              flop / best_peer, best_own / best_peer);
  std::fflush(stdout);
}

int Main(int argc, char** argv) {
  Options options;
  CLI::App app(
      "Products of matrices by Ashlar and by oneDNN: times, GFLOP/s, Ashlar's time over oneDNN's.",
      "matrix_mul_benchmark");
  app.add_option("--threads", options.threads)->capture_default_str()->check(CLI::Range(1, 1024));
  app.add_option("--seconds", options.seconds, "for each kernel")->capture_default_str();
  app.add_option("--only", options.only, "products with this text in their name")
      ->option_text("TEXT");
  app.add_flag("--markdown", options.markdown, "rows of a table");
  if (const std::optional<int> exit_code = benchmarks::Parse(app, argc, argv)) return *exit_code;
  cpu::RegisterDevice();
  Device& device = **OpenDevice(CompNode());
  device.UseThreads(options.threads);
  omp_set_num_threads(options.threads);  // for oneDNN
  for (const Product& product : kProducts) {
    if (std::string(product.name).find(options.only) == std::string::npos) continue;
    Measure(product, options, device);
  }
  return 0;
}

}  // namespace
}  // namespace ashlar

int main(int argc, char** argv) { return ashlar::Main(argc, argv); }
