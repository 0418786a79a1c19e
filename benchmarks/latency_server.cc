// A long-lived process that runs a model on request: one side of a side-by-side measurement.
//
//   latency_server MODEL.ash THREADS INPUT.npy OUTPUT.npy [WORD...]
//
// Words: "exact", "memory", "tile=SPEC" and "processor=SPEC" stand for the options --exact,
// --prefer memory, --tile SPEC and --processor SPEC of the command; tf32, fp16 and bf16 for
// --allow-tf32 and --precision. "tuned" uses the record of `ashlar tune` for the device. Any other
// word names the device. On a device with its own memory, input and output stay there.
//
// Prints "ready" after three warm-up runs, whose output it writes to OUTPUT.npy. Then, for each
// line with a number k on stdin, runs k times and prints the k latencies in milliseconds on one
// line.
#include <chrono>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "benchmarks/arguments.h"
#include "graph/status.h"
#include "graph/tiling/tile_spec.h"
#include "runtime/cpu/cpu_device.h"
#include "runtime/device/device_library.h"
#include "runtime/plan/request/request_options.h"
#include "runtime/session/bind_tensors.h"
#include "serialization/kernel_record_file.h"
#include "serialization/kernel_record_path.h"
#include "serialization/native/reader.h"
#include "serialization/npy.h"

namespace ashlar {
namespace {

struct Files {
  std::string model, input, output;
};

absl::Status Serve(const Files& files, const PlanRequest& request) {
  ASHLAR_ASSIGN_OR_RETURN(Graph graph, ReadModel(files.model));
  ASHLAR_ASSIGN_OR_RETURN(std::shared_ptr<const Executable> executable,
                          Executable::Compile(std::move(graph), request));
  ASHLAR_ASSIGN_OR_RETURN(std::unique_ptr<Session> session, Session::Create(executable));
  ASHLAR_ASSIGN_OR_RETURN(const HostTensor input, ReadNpy(files.input));
  const Graph& compiled = executable->graph();
  Device& device = *executable->planned().device;
  const std::string& input_name = compiled.inputs()[0].name;
  ASHLAR_ASSIGN_OR_RETURN(std::vector<HostTensor> outputs,
                          BindTensors(*session, {{input_name, input}}));
  const HostTensor& result = outputs[0];
  for (int i = 0; i < 3; ++i) ASHLAR_RETURN_IF_ERROR(session->Run());
  ASHLAR_RETURN_IF_ERROR(WriteNpy(result, files.output));
  std::unique_ptr<DeviceMemory> resident_input, resident_output;
  if (!device.is_host()) {
    ASHLAR_ASSIGN_OR_RETURN(resident_input, device.Allocate(input.bytes()));
    ASHLAR_ASSIGN_OR_RETURN(resident_output, device.Allocate(result.bytes()));
    ASHLAR_RETURN_IF_ERROR(device.CopyIn(resident_input->data(), input.raw(), input.bytes()));
    ASHLAR_RETURN_IF_ERROR(
        session->BindDeviceInput(input_name, resident_input->data(), input.bytes()));
    ASHLAR_RETURN_IF_ERROR(session->BindDeviceOutput(compiled.outputs()[0].name,
                                                     resident_output->data(), result.bytes()));
    for (int i = 0; i < 3; ++i) ASHLAR_RETURN_IF_ERROR(session->Run());
  }
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

absl::Status ReadWord(const std::string& word, PlanRequest& request) {
  if (word == "fp32") return absl::OkStatus();
  if (word == "exact") return request.planning.kernels.exact = true, absl::OkStatus();
  if (word == "memory") return request.planning.kernels.low_workspace = true, absl::OkStatus();
  if (word == "tf32") return request.planning.kernels.allow_tf32 = true, absl::OkStatus();
  if (word == "fp16") return request.target.precision = DType::kFloat16, absl::OkStatus();
  if (word == "bf16") return request.target.precision = DType::kBFloat16, absl::OkStatus();
  if (word == "tuned") {
    ASHLAR_ASSIGN_OR_RETURN(const Device* device, OpenDevice(request.target.comp_node));
    ASHLAR_ASSIGN_OR_RETURN(
        KernelRecord record,
        LoadKernelRecord(DefaultKernelRecordPath(), device->measured_as(device->processor())));
    request.planning.record = std::make_shared<const KernelRecord>(std::move(record));
    request.target.tuned_tiles = true;
    return absl::OkStatus();
  }
  if (absl::StartsWith(word, "tile=")) {
    request.target.tuned_tiles = false;
    ASHLAR_ASSIGN_OR_RETURN(request.target.tiles,
                            ParseTilesOrNone(absl::string_view(word).substr(5)));
    return absl::OkStatus();
  }
  if (absl::StartsWith(word, "processor=")) {
    ASHLAR_ASSIGN_OR_RETURN(request.target.processor,
                            Processor::Parse(absl::string_view(word).substr(10)));
    return absl::OkStatus();
  }
  ASHLAR_ASSIGN_OR_RETURN(request.target.comp_node, CompNode::Parse(word));
  return absl::OkStatus();
}

int Main(int argc, char** argv) {
  Files files;
  PlanRequest request;
  std::vector<std::string> words;
  CLI::App app("Runs a model when it is told to.", "latency_server");
  app.add_option("MODEL.ash", files.model)->required();
  app.add_option("THREADS", request.target.threads)->required();
  app.add_option("INPUT.npy", files.input)->required();
  app.add_option("OUTPUT.npy", files.output)->required();
  app.add_option(
      "WORD", words,
      "a device, such as gpu0:0; exact, memory, tile=SPEC, processor=SPEC, tf32, fp16, bf16, "
      "tuned");
  if (const std::optional<int> exit_code = benchmarks::Parse(app, argc, argv)) return *exit_code;
  cpu::RegisterDevice();
  RegisterDeviceLibrary(CompNode::Type::kGpu, "libashlar_cuda.so");
  absl::Status status;
  for (const std::string& word : words) status.Update(ReadWord(word, request));
  if (status.ok()) status = Serve(files, request);
  if (status.ok()) return 0;
  std::cerr << "error: " << status.message() << "\n";
  return 1;
}

}  // namespace
}  // namespace ashlar

int main(int argc, char** argv) { return ashlar::Main(argc, argv); }
