// MatrixMul: the product of matrices, one pair or a batch of them.
#ifndef ASHLAR_OPR_MATRIX_MUL_H_
#define ASHLAR_OPR_MATRIX_MUL_H_

#include "opr/base/base.h"
#include "opr/base/param_enums.h"

namespace ashlar {

enum class MatrixFormat { kDefault };

struct MatrixMulParam {
  bool transposeA = false;
  bool transposeB = false;
  ComputeMode compute_mode = ComputeMode::kDefault;
  MatrixFormat format = MatrixFormat::kDefault;

  template <typename V>
  void Visit(V& v) {
    static constexpr const char* kNames[] = {"DEFAULT"};
    v("transposeA", transposeA);
    v("transposeB", transposeB);
    v("compute_mode", compute_mode, kComputeModeNames);
    v("format", format, kNames);
  }
};

// Sizes that follow from parameters and shapes: [m, k] x [k, n] for each index of `batch`.
struct MatrixMulGeometry {
  int64_t m = 0, k = 0, n = 0;
  Shape batch;  // of the output: the batches of A and B, broadcast
  // Elements from one matrix of the operand to the next along each dimension of `batch`; 0 if the
  // operand is broadcast.
  absl::InlinedVector<int64_t, Shape::kMaxRank> batch_strides_a, batch_strides_b;

  Shape output() const;
  // Returns the start of an operand's matrix, in elements, for the `index`-th element of `batch`.
  int64_t OffsetOfA(int64_t index) const { return Offset(index, batch_strides_a); }
  int64_t OffsetOfB(int64_t index) const { return Offset(index, batch_strides_b); }

 private:
  int64_t Offset(int64_t index, absl::Span<const int64_t> strides) const;
};

// Floats of one dtype, rank 2 or more, nothing empty. Errors are InvalidArgument and show both
// shapes.
absl::StatusOr<MatrixMulGeometry> InferMatrixMul(const MatrixMulParam& param, const TensorType& a,
                                                 const TensorType& b);

// The base of operators whose first inputs are A and B of a product. Other inputs are needed as a
// whole.
class ProductOperator : public Operator {
 public:
  StorageRules storage_rules(const Site&) const override {
    return {.precision = PrecisionRule::kLow};
  }
  std::optional<std::vector<Region>> InputRegions(const Region& output,
                                                  const Site& site) const override;
  int64_t Computation(const Site& site) const override;
  QuantizationRule quantization_rule(const Site& site) const override;
  absl::StatusOr<int> MakeQuantized(GraphBuilder& builder, absl::Span<const int> inputs,
                                    const QuantizationChoice& choice) const override;
  // Supports products of one row and a constant matrix, as convolutions.
  std::optional<Replacement> ReadingImage(absl::Span<const InputInfo> inputs, const Shape& image,
                                          absl::Span<const int64_t> axes) const override;

 protected:
  virtual const MatrixMulParam& product() const = 0;
  // Whether a ReLU follows.
  virtual bool relu() const { return false; }
};

// Inputs: A [..., m, k] (transposeA: [..., k, m]), B [..., k, n] (transposeB: [..., n, k]).
// Output: [..., m, n].
class MatrixMul final : public OperatorWithParam<MatrixMulParam, ProductOperator> {
 public:
  ASHLAR_OPERATOR("MatrixMul", "matrix_mul")
  absl::Status Gradient(GradientContext& context) const override;
  std::optional<Replacement> Chain(absl::Span<const InputInfo> inputs,
                                   const Consumer& consumer) const override;

 protected:
  const MatrixMulParam& product() const override { return param(); }
};

}  // namespace ashlar

#endif  // ASHLAR_OPR_MATRIX_MUL_H_
