// A long-lived process that runs a model when it is told to: one side of a side-by-side
// measurement.
//
//   latency_server MODEL.ash THREADS INPUT.npy OUTPUT.npy [exact] [memory] [tile=SPEC]
//
// The words are --exact, --prefer memory and --tile SPEC of the command.
// Prints "ready" after three warm-up runs (whose output it writes to OUTPUT.npy); then, for each
// line with a number k on stdin, runs k times and prints the k latencies in milliseconds on one
// line.
#include <chrono>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <string>

#include "absl/strings/match.h"
#include "graph/passes/tile_spec.h"
#include "graph/status.h"
#include "runtime/cpu/cpu_device.h"
#include "runtime/session.h"
#include "serialization/native_reader.h"
#include "serialization/npy.h"

namespace ashlar {
namespace {

absl::Status Serve(const std::string& model, const PlanningOptions& options,
                   const std::string& input_path, const std::string& output_path) {
  ASHLAR_ASSIGN_OR_RETURN(Graph graph, ReadModel(model));
  ASHLAR_ASSIGN_OR_RETURN(std::shared_ptr<const Executable> executable,
                          Executable::Compile(std::move(graph), options));
  ASHLAR_ASSIGN_OR_RETURN(std::unique_ptr<Session> session, Session::Create(executable));
  ASHLAR_ASSIGN_OR_RETURN(const HostTensor input, ReadNpy(input_path));
  const Graph& compiled = executable->graph();
  const Binding& output = compiled.outputs()[0];
  HostTensor result = HostTensor::Zeros(DType::kFloat32, compiled.var(output.var).type.shape);
  ASHLAR_RETURN_IF_ERROR(session->BindInput(compiled.inputs()[0].name, input.raw(), input.bytes()));
  ASHLAR_RETURN_IF_ERROR(session->BindOutput(output.name, result.mutable_raw(), result.bytes()));
  for (int i = 0; i < 3; ++i) ASHLAR_RETURN_IF_ERROR(session->Run());
  ASHLAR_RETURN_IF_ERROR(WriteNpy(result, output_path));
  std::cout << "ready" << std::endl;
  int runs = 0;
  while (std::cin >> runs) {
    for (int i = 0; i < runs; ++i) {
      const auto start = std::chrono::steady_clock::now();
      ASHLAR_RETURN_IF_ERROR(session->Run());
      const std::chrono::duration<double, std::milli> elapsed =
          std::chrono::steady_clock::now() - start;
      std::cout << elapsed.count() << (i + 1 < runs ? " " : "");
    }
    std::cout << std::endl;
  }
  return absl::OkStatus();
}

}  // namespace
}  // namespace ashlar

int main(int argc, char** argv) {
  if (argc < 5) {
    std::cerr << "usage: latency_server MODEL.ash THREADS INPUT.npy OUTPUT.npy [exact] [memory] "
                 "[tile=SPEC]\n";
    return 2;
  }
  ashlar::PlanningOptions options;
  options.threads = std::atoi(argv[2]);
  for (int i = 5; i < argc; ++i) {
    const absl::string_view word = argv[i];
    options.kernels.exact |= word == "exact";
    options.kernels.least_memory |= word == "memory";
    if (!absl::StartsWith(word, "tile=")) continue;
    absl::StatusOr<ashlar::TileSpec> tiles = ashlar::TileSpec::Parse(word.substr(5));
    if (!tiles.ok()) {
      std::cerr << "error: " << tiles.status().message() << "\n";
      return 2;
    }
    options.tiles = *std::move(tiles);
  }
  ashlar::RegisterCpuDevice();
  const absl::Status status = ashlar::Serve(argv[1], options, argv[3], argv[4]);
  if (status.ok()) return 0;
  std::cerr << "error: " << status.message() << "\n";
  return 1;
}
