// Kernels: how an operator is computed on a device.
#ifndef ASHLAR_RUNTIME_DEVICE_KERNEL_H_
#define ASHLAR_RUNTIME_DEVICE_KERNEL_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "graph/operator.h"
#include "runtime/device/processor.h"

namespace ashlar {

class Stream;

// How kernels are chosen, and the precision that they may give up for time.
struct KernelPolicy {
  bool exact = false;  // nothing in precision: no Winograd convolution
  bool least_memory =
      false;                // no memory: no weights larger than the filter, no workspace for speed
  bool allow_tf32 = false;  // products of Float32 with operands rounded to 10 bits of fraction
  bool all_candidates = false;  // offer all that may be the fastest, not only the likely one
  // Offer all kernels that weights may be packed for: they were packed before, perhaps on a
  // processor with other caches.
  bool packed_before = false;

  friend bool operator==(const KernelPolicy&, const KernelPolicy&) = default;
};

// Bytes of workspace by which no order is chosen and no further kernel is looked for. They count
// where kernels are chosen: a plan's peak is the least that kernels of acceptable speed allow.
inline constexpr int64_t kNegligibleWorkspace = 4096;

// A request for kernels: an operator on tensors of given types and formats.
struct KernelRequest {
  const Operator* op = nullptr;
  std::vector<TensorType> inputs;
  std::vector<TensorType> outputs;
  std::vector<bool> constant;  // by input: known now, so it can be packed
  // By input: a constant of floats whose values are those of Float16, so that it may be packed as
  // such. Empty: none.
  std::vector<bool> halves;
  // By input: its value where Operator::input_use is kHostValue, else null. Not kept.
  std::vector<const HostTensor*> host_values;
  // The processor of the kernels, where they run on the host: all they may know of the machine.
  Processor processor;
  int threads = 1;
  KernelPolicy policy;
};

// Pointers of one execution. Inputs that are not read on the device, and outputs that are views of
// inputs, are null.
struct KernelArgs {
  absl::Span<const void* const> inputs;
  absl::Span<void* const> outputs;
  void* workspace = nullptr;  // workspace_bytes() bytes
  Stream* stream = nullptr;   // that the kernel's work goes to, on devices that have streams

  template <typename T>
  const T* Input(int input) const {
    return static_cast<const T*>(inputs[static_cast<size_t>(input)]);
  }
  template <typename T>
  T* Output(int output) const {
    return static_cast<T*>(outputs[static_cast<size_t>(output)]);
  }
};

// How a kernel wants a constant input stored. Equal keys for one constant mean equal bytes: they
// are then kept once.
struct Packing {
  std::string key;
  int64_t bytes = 0;
};

// State that one session keeps for one kernel, such as library handles. Made before the first run.
class KernelState {
 public:
  virtual ~KernelState() = default;
};

// Immutable once made, shared by sessions.
class Kernel {
 public:
  virtual ~Kernel() = default;

  // The implementation chosen: "panel:avx512/4 runs", "elementwise:avx512".
  virtual std::string implementation() const = 0;
  // Workspace during Run in bytes; part of the memory plan.
  virtual int64_t workspace_bytes() const { return 0; }
  // Expected time over that of the fastest candidate for the same request that gives up nothing of
  // what KernelPolicy names; below 1 where giving up is faster still.
  virtual double relative_time() const { return 1.0; }
  // About how much further outputs are rounded, by the root mean square, than direct sums are:
  // algorithms that transform their operands round more often.
  virtual double relative_rounding() const { return 1.0; }

  // nullopt: constant input `input` is read row-major as it is.
  virtual std::optional<Packing> packing(int /*input*/) const { return std::nullopt; }
  virtual absl::Status Pack(int /*input*/, const HostTensor& /*value*/, void* /*packed*/) const {
    return absl::OkStatus();
  }

  virtual absl::StatusOr<std::unique_ptr<KernelState>> NewState() const {
    return std::unique_ptr<KernelState>();
  }
  // Allocates nothing of Ashlar's own. On a device with streams it hands its work over and returns.
  // Where the plan made an output overwrite or contain an input, their pointers say so.
  virtual absl::Status Run(const KernelArgs& args, KernelState* state) const = 0;
};

// All kernels for a request, the fastest first; Unimplemented where there is none.
using KernelList = std::vector<std::unique_ptr<Kernel>>;
using KernelFactory = std::function<absl::StatusOr<KernelList>(const KernelRequest&)>;

// The kernels of one device, by operator type.
class KernelRegistry {
 public:
  void Register(absl::string_view type, KernelFactory factory);
  // `make`, called with the operator by its class and the request, or with the request alone.
  // Where `dtypes` are given, requests with another one on the device are refused.
  template <typename Op, typename Make>
  void Register(const Make& make, std::vector<DType> dtypes = {}) {
    Register(Op::kType,
             [make, dtypes = std::move(dtypes)](
                 const KernelRequest& request) -> absl::StatusOr<KernelList> {
               if (absl::Status status = CheckDTypes(request, dtypes); !status.ok()) return status;
               if constexpr (std::is_invocable_v<Make, const Op&, const KernelRequest&>) {
                 return make(static_cast<const Op&>(*request.op), request);
               } else {
                 return make(request);
               }
             });
  }
  // Each factory becomes what `change` makes of it.
  void ChangeEach(const std::function<KernelFactory(KernelFactory)>& change);
  // Null where the device has no kernel for the type.
  const KernelFactory* Find(absl::string_view type) const;

 private:
  // Unimplemented where an input that is read on the device has none of the dtypes, if there are
  // any.
  static absl::Status CheckDTypes(const KernelRequest& request, const std::vector<DType>& dtypes);

  std::map<std::string, KernelFactory, std::less<>> factories_;
};

}  // namespace ashlar

#endif  // ASHLAR_RUNTIME_DEVICE_KERNEL_H_
