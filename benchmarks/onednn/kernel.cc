#include "benchmarks/onednn/kernel.h"

#include <algorithm>
#include <optional>

#include "absl/strings/str_join.h"
#include "graph/status.h"
#include "runtime/device/allocation_origin.h"

namespace ashlar::onednn {
namespace {

using dnnl::memory;

constexpr struct {
  DType dtype;
  memory::data_type type;
} kDataTypes[] = {
    {DType::kFloat32, memory::data_type::f32},   {DType::kFloat16, memory::data_type::f16},
    {DType::kBFloat16, memory::data_type::bf16}, {DType::kInt32, memory::data_type::s32},
    {DType::kInt8, memory::data_type::s8},       {DType::kUint8, memory::data_type::u8},
};

std::optional<memory::data_type> DataType(DType dtype) {
  for (const auto& row : kDataTypes) {
    if (row.dtype == dtype) return row.type;
  }
  return std::nullopt;
}

// The memory objects in the order of the kernel's arguments, the scratchpad last.
struct OneDnnState final : KernelState {
  dnnl::stream stream;
  std::vector<memory> memories;
  std::vector<dnnl_exec_arg_t> arguments;
};

}  // namespace

const dnnl::engine& OneDnnEngine() {
  static const auto* const engine = new dnnl::engine(dnnl::engine::kind::cpu, 0);
  return *engine;
}

dnnl::primitive_attr OneDnnAttributes() {
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  return attributes;
}

bool OneDnnSupports(DType dtype) { return DataType(dtype).has_value(); }

memory::desc OneDnnDesc(const TensorType& type) {
  const memory::dims dims(type.shape.dims().begin(), type.shape.dims().end());
  const memory::data_type dtype = DataType(type.dtype).value();
  if (type.format == Format::kNCHW16c) {
    return memory::desc(dims, dtype, memory::format_tag::nChw16c);
  }
  const auto strides = ContiguousStrides(type.shape);
  return memory::desc(dims, dtype, memory::dims(strides.begin(), strides.end()));
}

std::string PackingKey(const memory::desc& desc) {
  const dnnl_memory_desc_t& d = desc.data;
  const auto list = [](const dnnl_dim_t* values, int count) {
    return absl::StrJoin(values, values + count, ",");
  };
  std::string key = absl::StrCat("onednn ", d.data_type, " {", list(d.dims, d.ndims), "} in {",
                                 list(d.padded_dims, d.ndims), "}");
  if (d.format_kind == dnnl_blocked) {
    const dnnl_blocking_desc_t& b = d.format_desc.blocking;
    absl::StrAppend(&key, " strides {", list(b.strides, d.ndims), "} blocks {",
                    list(b.inner_blks, b.inner_nblks), "} of {", list(b.inner_idxs, b.inner_nblks),
                    "}");
  } else if (d.format_kind == dnnl_format_kind_wino) {
    const dnnl_wino_desc_t& w = d.format_desc.wino_desc;
    absl::StrAppend(&key, " winograd ", w.wino_format, " ", w.r, " ", w.alpha, " ", w.ic, " ", w.oc,
                    " ", w.ic_block, " ", w.oc_block, " ", w.ic2_block, " ", w.oc2_block, " ",
                    w.adj_scale, " ", w.size);
  }
  return absl::StrCat(key, " flags ", d.extra.flags);
}

absl::Status OneDnnReorder(const memory::desc& from, const void* source, const memory::desc& to,
                           void* target) {
  return CallOneDnn("reorder", [&] {
    memory input(from, OneDnnEngine(), const_cast<void*>(source));
    memory output(to, OneDnnEngine(), target);
    dnnl::stream stream(OneDnnEngine());
    dnnl::reorder(input, output).execute(stream, input, output);
    stream.wait();
  });
}

OneDnnKernel::OneDnnKernel(const dnnl::primitive_desc_base& pd,
                           std::vector<OneDnnArgument> arguments, double relative_time)
    : pd_(pd),
      implementation_(pd.impl_info_str()),
      scratchpad_(pd.scratchpad_desc()),
      workspace_bytes_(static_cast<int64_t>(scratchpad_.get_size())),
      arguments_(std::move(arguments)),
      relative_time_(relative_time) {}

absl::StatusOr<std::unique_ptr<KernelState>> OneDnnKernel::NewState() const {
  auto state = std::make_unique<OneDnnState>();
  ASHLAR_RETURN_IF_ERROR(CallOneDnn(implementation_, [&] {
    std::call_once(made_, [&] { primitive_ = dnnl::primitive(pd_.get()); });
    state->stream = dnnl::stream(OneDnnEngine());
    const auto add = [&](int arg, const memory::desc& desc) {
      state->memories.emplace_back(desc, OneDnnEngine(), nullptr);
      state->arguments.push_back({arg, state->memories.back().get()});
    };
    for (const OneDnnArgument& argument : arguments_) add(argument.arg, argument.desc);
    add(DNNL_ARG_SCRATCHPAD, scratchpad_);
  }));
  return std::unique_ptr<KernelState>(std::move(state));
}

absl::Status OneDnnKernel::Run(const KernelArgs& args, KernelState* state) const {
  OneDnnState& own = static_cast<OneDnnState&>(*state);
  const OriginScope library(AllocationOrigin::kLibrary);
  const auto point = [&](size_t i, const void* data) {
    return dnnl_memory_set_data_handle(own.arguments[i].memory, const_cast<void*>(data));
  };
  dnnl_status_t status = point(arguments_.size(), args.workspace);
  for (size_t i = 0; i < arguments_.size() && status == dnnl_success; ++i) {
    const OneDnnArgument& argument = arguments_[i];
    status =
        point(i, argument.tensor == OneDnnArgument::Tensor::kInput ? args.inputs[argument.index]
                                                                   : args.outputs[argument.index]);
  }
  if (status == dnnl_success) {
    status = dnnl_primitive_execute(primitive_.get(), own.stream.get(),
                                    static_cast<int>(own.arguments.size()), own.arguments.data());
  }
  if (status == dnnl_success) return absl::OkStatus();
  return absl::InternalError(absl::StrCat(implementation_, ": oneDNN status ", status));
}

}  // namespace ashlar::onednn
