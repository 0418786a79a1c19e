// Kernels that call C functions. They run on this machine, and the same calls are written into
// generated programs.
#ifndef ASHLAR_RUNTIME_MCU_CODE_KERNEL_H_
#define ASHLAR_RUNTIME_MCU_CODE_KERNEL_H_

#include <array>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "runtime/device/kernel.h"
#include "runtime/mcu/initialiser.h"
#include "runtime/mcu/work.h"

namespace ashlar::mcu {

// A pointer argument of a function.
struct CodeOperand {
  enum class Kind { kInput, kOutput, kTable, kNull };
  Kind kind = Kind::kInput;
  int index = 0;
  int64_t offset = 0;  // in bytes
};
inline CodeOperand Input(int index) { return {CodeOperand::Kind::kInput, index}; }
inline CodeOperand Output(int index, int64_t offset = 0) {
  return {CodeOperand::Kind::kOutput, index, offset};
}
inline CodeOperand Table(int index) { return {CodeOperand::Kind::kTable, index}; }
inline CodeOperand NoOperand() { return {CodeOperand::Kind::kNull}; }

// A constant array that belongs to a kernel.
struct CodeTable {
  DType dtype = DType::kFloat32;
  std::vector<char> bytes;

  template <typename T>
  static CodeTable Of(DType dtype, absl::Span<const T> values) {
    CodeTable table{dtype, std::vector<char>(values.size() * sizeof(T))};
    if (!values.empty()) std::memcpy(table.bytes.data(), values.data(), table.bytes.size());
    return table;
  }
};

// A call of the function `ashlar_NAME` in c99/NAME.c. Its arguments are a pointer to its shape (a
// struct of constants), then the pointers in `operands`.
struct CodeCall {
  static constexpr size_t kMostOperands = 6;

  std::string name;
  std::string shape_type;  // "ashlar_NAME_shape"
  std::string shape;       // its C initialiser
  int64_t shape_bytes = 0;
  std::vector<CodeOperand> operands = {};
  // Whether it is a copy, which is skipped if input and output have the same address.
  bool is_copy = false;
  CodeWork work = {};                                   // instructions.h counts its instructions
  std::function<void(void* const* pointers)> run = {};  // by operand
};

// Returns the call of `function` with a shape.
template <typename ShapeStruct, typename... Pointers>
CodeCall CallOf(const char* name, const char* shape_type,
                void (*function)(const ShapeStruct*, Pointers...), const ShapeStruct& shape,
                const std::array<CodeOperand, sizeof...(Pointers)>& operands) {
  static_assert(sizeof...(Pointers) <= CodeCall::kMostOperands);
  CodeCall call{
      name, shape_type, InitialiserOf(shape), sizeof(shape), {operands.begin(), operands.end()}};
  call.work = WorkOf(shape);
  call.run = [function, shape](void* const* pointers) {
    [&]<size_t... I>(std::index_sequence<I...>) {
      function(&shape, static_cast<Pointers>(pointers[I])...);
    }
    (std::index_sequence_for<Pointers...>());
  };
  return call;
}

// ASHLAR_CODE_CALL(copy, shape, {Input(0), Output(0)})
#define ASHLAR_CODE_CALL(name, shape, ...) \
  ::ashlar::mcu::CallOf(#name, "ashlar_" #name "_shape", &ashlar_##name, shape, {{__VA_ARGS__}})

// A sequence of calls. It needs no workspace.
class CodeKernel final : public Kernel {
 public:
  // Writes a constant in the order in which a function reads it, with the same number of bytes.
  using Reorder = std::function<void(const HostTensor& value, void* packed)>;

  CodeKernel(std::vector<CodeCall> calls, std::vector<CodeTable> tables = {})
      : calls_(std::move(calls)), tables_(std::move(tables)) {}

  // Stores constant `input` as `reorder` writes it; `packing` has its size and its key.
  void SetPacking(int input, Packing packing, Reorder reorder) {
    packed_input_ = input;
    packing_ = std::move(packing);
    reorder_ = std::move(reorder);
  }

  absl::Span<const CodeCall> calls() const { return calls_; }
  absl::Span<const CodeTable> tables() const { return tables_; }

  std::string implementation() const override;
  std::optional<Packing> packing(int input) const override {
    return input == packed_input_ ? std::optional<Packing>(packing_) : std::nullopt;
  }
  absl::Status Pack(int input, const HostTensor& value, void* packed) const override;
  absl::Status Run(const KernelArgs& args, KernelState* state) const override;

 private:
  std::vector<CodeCall> calls_;
  std::vector<CodeTable> tables_;
  int packed_input_ = -1;
  Packing packing_;
  Reorder reorder_;
};

// Returns a list with the only kernel for a request.
KernelList OnlyKernel(std::vector<CodeCall> calls, std::vector<CodeTable> tables = {});

}  // namespace ashlar::mcu

#endif  // ASHLAR_RUNTIME_MCU_CODE_KERNEL_H_
