#include "library/triton/instance.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <new>
#include <optional>
#include <string>

#include "library/triton/errors.h"

namespace ashlar::triton {
namespace {

constexpr uintptr_t kTensorAlignment = 16;  // for using requests' own buffers; others are copied

uint64_t Now() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return static_cast<uint64_t>(std::chrono::nanoseconds(now).count());
}

bool Aligned(const void* data) { return reinterpret_cast<uintptr_t>(data) % kTensorAlignment == 0; }

// Throws unless a buffer of a request or response is in host memory.
void CheckHost(TRITONSERVER_MemoryType memory, const char* name) {
  if (memory != TRITONSERVER_MEMORY_GPU) return;
  throw Failure(TRITONSERVER_ERROR_UNSUPPORTED, "'" + std::string(name) + "' is in GPU memory");
}

std::string Text(const int64_t* shape, uint32_t rank) {
  std::string text = "[";
  for (uint32_t i = 0; i < rank; ++i) text += (i > 0 ? "," : "") + std::to_string(shape[i]);
  return text + "]";
}

}  // namespace

// A request in execution.
struct Instance::Job {
  TRITONBACKEND_Request* request = nullptr;
  TRITONBACKEND_Response* response = nullptr;
  std::vector<TRITONBACKEND_Input*> inputs;  // in the order of the plan's inputs
  std::vector<void*> outputs;                // addresses of the results; null if not requested
  bool starts = false;                       // a sequence
  int64_t rows = 1;
  size_t plan = 0;  // whose tensors its own are; with batches the largest
  uint64_t begin = 0, compute_begin = 0, compute_end = 0;
  std::optional<Failure> failure;

  // Returns the shape of an input; of rank 0 if no plan has so many dimensions.
  ashlar_shape ShapeOf(const char* name) const;
  // Returns the rows of an input after checking it against the plan's tensor.
  int64_t RowsOf(const ashlar_tensor& expected, bool batched, int64_t most);
  // Copies a whole input of `bytes` bytes to `to`.
  void CopyInput(size_t index, const char* name, std::byte* to, int64_t bytes) const;
  // Returns the request's own buffer, or null if it is in several pieces or not aligned.
  const void* InputInPlace(size_t index, const char* name) const;
  void NewOutputs(List<ashlar_tensor> tensors, bool batched, int64_t planned_rows);
};

namespace {

// The properties of an input, as Triton gives them.
struct InputProperties {
  explicit InputProperties(TRITONBACKEND_Input* input) {
    const char* name = nullptr;
    Check(TRITONBACKEND_InputProperties(input, &name, &type, &shape, &rank, &bytes, &buffers));
  }
  TRITONSERVER_DataType type = TRITONSERVER_TYPE_INVALID;
  const int64_t* shape = nullptr;
  uint32_t rank = 0, buffers = 0;
  uint64_t bytes = 0;
};

}  // namespace

ashlar_shape Instance::Job::ShapeOf(const char* name) const {
  TRITONBACKEND_Input* input = nullptr;
  Check(TRITONBACKEND_RequestInput(request, name, &input));
  const InputProperties given(input);
  ashlar_shape shape = {};
  shape.input = name;
  if (given.rank > ASHLAR_MAX_RANK) return shape;
  shape.rank = static_cast<int32_t>(given.rank);
  std::copy(given.shape, given.shape + given.rank, shape.shape);
  return shape;
}

int64_t Instance::Job::RowsOf(const ashlar_tensor& expected, bool batched, int64_t most) {
  TRITONBACKEND_Input* input = nullptr;
  Check(TRITONBACKEND_RequestInput(request, expected.name, &input));
  inputs.push_back(input);
  const InputProperties given(input);
  const int64_t* const shape = given.shape;
  const int fixed = batched ? 1 : 0;
  const bool same = static_cast<int32_t>(given.rank) == expected.rank &&
                    std::equal(shape + fixed, shape + given.rank, expected.shape + fixed);
  if (given.type != DataTypeOf(expected.dtype) || !same ||
      (batched && (shape[0] < 1 || shape[0] > most))) {
    throw InvalidArgument("input '" + std::string(expected.name) + "': got type " +
                          std::to_string(given.type) + ", shape " + Text(shape, given.rank) +
                          "; planned is " + std::to_string(DataTypeOf(expected.dtype)) + ", " +
                          Text(expected.shape, static_cast<uint32_t>(expected.rank)) +
                          (batched ? " or fewer rows" : ""));
  }
  const int64_t rows = batched ? shape[0] : 1;
  if (static_cast<int64_t>(given.bytes) != expected.bytes / most * rows) {
    throw InvalidArgument("input '" + std::string(expected.name) + "' has " +
                          std::to_string(given.bytes) + " bytes");
  }
  return rows;
}

void Instance::Job::CopyInput(size_t index, const char* name, std::byte* to, int64_t bytes) const {
  for (uint32_t buffer = 0; bytes > 0; ++buffer) {
    const void* data = nullptr;
    uint64_t size = 0;
    TRITONSERVER_MemoryType memory = TRITONSERVER_MEMORY_CPU;
    int64_t memory_id = 0;
    Check(TRITONBACKEND_InputBuffer(inputs[index], buffer, &data, &size, &memory, &memory_id));
    CheckHost(memory, name);
    const size_t part = std::min(static_cast<size_t>(size), static_cast<size_t>(bytes));
    std::memcpy(to, data, part);
    to += part;
    bytes -= static_cast<int64_t>(part);
  }
}

const void* Instance::Job::InputInPlace(size_t index, const char* name) const {
  const InputProperties given(inputs[index]);
  if (given.buffers != 1) return nullptr;
  uint64_t size = 0;
  const void* data = nullptr;
  TRITONSERVER_MemoryType memory = TRITONSERVER_MEMORY_CPU;
  int64_t memory_id = 0;
  Check(TRITONBACKEND_InputBuffer(inputs[index], 0, &data, &size, &memory, &memory_id));
  CheckHost(memory, name);
  return size == given.bytes && Aligned(data) ? data : nullptr;
}

void Instance::Job::NewOutputs(List<ashlar_tensor> tensors, bool batched, int64_t planned_rows) {
  outputs.assign(tensors.size(), nullptr);
  uint32_t count = 0;
  Check(TRITONBACKEND_RequestOutputCount(request, &count));
  for (uint32_t i = 0; i < count; ++i) {
    const char* name = nullptr;
    Check(TRITONBACKEND_RequestOutputName(request, i, &name));
    const auto* const tensor =
        std::find_if(tensors.begin(), tensors.end(),
                     [&](const ashlar_tensor& one) { return std::strcmp(one.name, name) == 0; });
    if (tensor == tensors.end()) {
      throw InvalidArgument("the model has no output '" + std::string(name) + "'");
    }
    std::vector<int64_t> shape(tensor->shape, tensor->shape + tensor->rank);
    if (batched) shape[0] = rows;
    TRITONBACKEND_Output* output = nullptr;
    Check(TRITONBACKEND_ResponseOutput(response, &output, name, DataTypeOf(tensor->dtype),
                                       shape.data(), static_cast<uint32_t>(shape.size())));
    TRITONSERVER_MemoryType memory = TRITONSERVER_MEMORY_CPU;
    int64_t memory_id = 0;
    const auto bytes = static_cast<uint64_t>(tensor->bytes / planned_rows * rows);
    void*& data = outputs[static_cast<size_t>(tensor - tensors.begin())];
    Check(TRITONBACKEND_OutputBuffer(output, &data, bytes, &memory, &memory_id));
    CheckHost(memory, name);
  }
}

void Instance::Free::operator()(std::byte* block) const { std::free(block); }

Instance::Block Instance::NewBlock(int64_t bytes, int64_t alignment) {
  const int64_t rounded = (std::max<int64_t>(bytes, 1) + alignment - 1) / alignment * alignment;
  Block block(static_cast<std::byte*>(
      std::aligned_alloc(static_cast<size_t>(alignment), static_cast<size_t>(rounded))));
  if (block == nullptr) throw std::bad_alloc();
  return block;
}

Instance::Instance(const ServedModel& model, TRITONBACKEND_ModelInstance* instance)
    : model_(model), instance_(instance) {
  int64_t arena = 0, alignment = 64;
  for (const auto& [rows, plan] : model.plans()) {
    arena = std::max(arena, plan.Memory().arena);
    alignment = std::max(alignment, plan.Memory().arena_alignment);
  }
  arena_ = NewBlock(arena, alignment);
  const auto blocks = [&](List<ashlar_tensor> (Plan::*tensors)() const) {
    std::vector<Block> made;
    for (size_t i = 0; i < (model.largest().*tensors)().size(); ++i) {
      int64_t bytes = 0;
      for (const auto& [rows, plan] : model.plans()) {
        bytes = std::max(bytes, (plan.*tensors)()[i].bytes);
      }
      made.push_back(NewBlock(bytes, alignment));
    }
    return made;
  };
  inputs_ = blocks(&Plan::Inputs);
  outputs_ = blocks(&Plan::Outputs);
  for (const auto& [rows, plan] : model.plans()) {
    sessions_.push_back(plan.NewSession(arena_.get(), static_cast<size_t>(arena)));
  }
}

// Returns the index of the plan for the shapes of a job; with batches of the largest.
size_t Instance::PlanFor(const Job& job) const {
  if (!model_.has_sizes()) return model_.plans().size() - 1;
  std::vector<ashlar_shape> shapes;
  for (const ashlar_tensor& input : model_.largest().Inputs()) {
    shapes.push_back(job.ShapeOf(input.name));
  }
  return model_.PointOf(shapes);
}

void Instance::Accept(Job& job) const {
  Check(TRITONBACKEND_ResponseNew(&job.response, job.request));
  uint32_t flags = 0;
  if (model_.has_states()) Check(TRITONBACKEND_RequestFlags(job.request, &flags));
  job.starts = (flags & TRITONSERVER_REQUEST_FLAG_SEQUENCE_START) != 0;
  job.plan = PlanFor(job);
  const Plan& plan = model_.plans()[job.plan].second;
  for (const ashlar_tensor& input : plan.Inputs()) {
    const int64_t rows = job.RowsOf(input, model_.batched(), model_.most_rows());
    if (job.inputs.size() > 1 && rows != job.rows) {
      throw InvalidArgument("input '" + std::string(input.name) + "' has other rows than the rest");
    }
    job.rows = rows;
  }
  job.NewOutputs(plan.Outputs(), model_.batched(), model_.most_rows());
}

// Returns the rows of all jobs: in place if one job fills the batch, otherwise copied. Missing rows
// are zeros.
const void* Instance::InputOf(const Job* first, const Job* last, size_t index,
                              const ashlar_tensor& tensor, int64_t rows) {
  if (last - first == 1 && first->rows == rows) {
    if (const void* data = first->InputInPlace(index, tensor.name)) return data;
  }
  const int64_t row_bytes = tensor.bytes / rows;
  std::byte* to = inputs_[index].get();
  for (const Job* job = first; job != last; ++job) {
    job->CopyInput(index, tensor.name, to, row_bytes * job->rows);
    to += row_bytes * job->rows;
  }
  std::byte* const end = inputs_[index].get() + row_bytes * rows;
  std::memset(to, 0, static_cast<size_t>(end - to));
  return inputs_[index].get();
}

// Runs jobs in the smallest batch that holds them, or one job at its sizes.
void Instance::Run(Job* first, Job* last) {
  int64_t given = 0;
  for (const Job* job = first; job != last; ++job) given += job->rows;
  size_t at = first->plan;
  while (at > 0 && model_.batched() && model_.plans()[at - 1].first >= given) --at;
  const auto& [rows, plan] = model_.plans()[at];
  Session& session = sessions_[at];
  const bool in_place = last - first == 1 && given == rows;
  const List<ashlar_tensor> inputs = plan.Inputs(), outputs = plan.Outputs();
  for (size_t i = 0; i < inputs.size(); ++i) {
    const void* const data = InputOf(first, last, i, inputs[i], rows);
    session.Input(static_cast<const std::byte*>(data), static_cast<size_t>(inputs[i].bytes),
                  inputs[i].name);
  }
  const auto own = [&](size_t i) {
    return !in_place || first->outputs[i] == nullptr || !Aligned(first->outputs[i]);
  };
  for (size_t i = 0; i < outputs.size(); ++i) {
    void* const data = own(i) ? outputs_[i].get() : first->outputs[i];
    session.Output(static_cast<std::byte*>(data), static_cast<size_t>(outputs[i].bytes),
                   outputs[i].name);
  }
  const uint64_t compute_begin = Now();
  session.Run();
  const uint64_t compute_end = Now();
  for (size_t i = 0; i < outputs.size(); ++i) {
    const std::byte* from = outputs_[i].get();
    for (Job* job = first; job != last && own(i); ++job) {
      const auto bytes = static_cast<size_t>(outputs[i].bytes / rows * job->rows);
      if (job->outputs[i] != nullptr) std::memcpy(job->outputs[i], from, bytes);
      from += bytes;
    }
  }
  for (Job* job = first; job != last; ++job) {
    job->compute_begin = compute_begin;
    job->compute_end = compute_end;
  }
  Check(TRITONBACKEND_ModelInstanceReportBatchStatistics(
      instance_, static_cast<uint64_t>(given), first->begin, compute_begin, compute_end, Now()));
}

// Ignores errors: there is no caller to return them to.
void Instance::Finish(Job& job) const {
  TRITONSERVER_Error* const error = ToError(job.failure);
  const uint64_t end = Now();
  const bool computed = job.compute_end > 0;
  if (job.response != nullptr) {
    TRITONSERVER_ErrorDelete(
        TRITONBACKEND_ResponseSend(job.response, TRITONSERVER_RESPONSE_COMPLETE_FINAL, error));
  }
  TRITONSERVER_ErrorDelete(TRITONBACKEND_ModelInstanceReportStatistics(
      instance_, job.request, error == nullptr, job.begin, computed ? job.compute_begin : end,
      computed ? job.compute_end : end, end));
  TRITONSERVER_ErrorDelete(
      TRITONBACKEND_RequestRelease(job.request, TRITONSERVER_REQUEST_RELEASE_ALL));
  TRITONSERVER_ErrorDelete(error);
}

void Instance::Execute(TRITONBACKEND_Request** requests, uint32_t count) {
  std::vector<Job> jobs(count);
  for (uint32_t i = 0; i < count; ++i) {
    Job& job = jobs[i];
    job.request = requests[i];
    job.begin = Now();
    job.failure = Try([&] { Accept(job); });
  }
  Job* const end = jobs.data() + jobs.size();
  for (Job* first = jobs.data(); first != end;) {
    if (first->starts) {
      const std::optional<Failure> failure = Try([&] {
        for (Session& session : sessions_) session.Reset();
      });
      if (failure) first->failure = failure;
    }
    if (first->failure) {
      ++first;
      continue;
    }
    Job* last = first + 1;
    int64_t rows = first->rows;
    while (last != end && !last->failure && rows + last->rows <= model_.most_rows()) {
      rows += (last++)->rows;
    }
    if (const std::optional<Failure> failure = Try([&] { Run(first, last); })) {
      for (Job* job = first; job != last; ++job) job->failure = failure;
    }
    first = last;
  }
  for (Job& job : jobs) Finish(job);
}

}  // namespace ashlar::triton
