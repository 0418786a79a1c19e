// Heuristics and products of the emulated cuBLASLt.
#include <cublasLt.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "tests/emulated_gpu/cublaslt_descriptors.h"
#include "tests/emulated_gpu/device_memory.h"
#include "tests/emulated_gpu/numbers.h"
#include "tests/emulated_gpu/runtime.h"

namespace ashlar::emulated {
namespace {

struct Matrix {
  Number number;
  int64_t rows, columns, leading, batch, stride;

  // Returns the number of elements from the first to the last one.
  int64_t Reach() const { return (batch - 1) * stride + (columns - 1) * leading + rows; }
  bool operator==(const Matrix& other) const {
    return number == other.number && rows == other.rows && columns == other.columns &&
           leading == other.leading && batch == other.batch && stride == other.stride;
  }
};

struct Problem {
  Matrix a, b, c, d;
  bool transposed_a, transposed_b, relu, has_bias, tf32, integers;
  const void* bias;
};

std::optional<Number> NumberOf(int type) {
  if (type == CUDA_R_32F) return Number::kFloat;
  if (type == CUDA_R_16F) return Number::kHalf;
  if (type == CUDA_R_16BF) return Number::kBFloat16;
  if (type == CUDA_R_8I) return Number::kInt8;
  if (type == CUDA_R_32I) return Number::kInt32;
  return std::nullopt;
}

std::optional<Matrix> ReadMatrix(const Call& call, cublasLtMatrixLayout_t layout) {
  const Attributes* const attributes = LayoutOf(call, layout);
  if (attributes == nullptr) return std::nullopt;
  const std::optional<Number> number =
      NumberOf(static_cast<int>(attributes->Get<uint32_t>(CUBLASLT_MATRIX_LAYOUT_TYPE)));
  if (!number || attributes->Get<int32_t>(CUBLASLT_MATRIX_LAYOUT_ORDER) != CUBLASLT_ORDER_COL) {
    call.Misuse("a type or an order that is not emulated");
    return std::nullopt;
  }
  const auto size = [&](cublasLtMatrixLayoutAttribute_t name) {
    return static_cast<int64_t>(attributes->Get<uint64_t>(name));
  };
  const Matrix matrix = {*number,
                         size(CUBLASLT_MATRIX_LAYOUT_ROWS),
                         size(CUBLASLT_MATRIX_LAYOUT_COLS),
                         attributes->Get<int64_t>(CUBLASLT_MATRIX_LAYOUT_LD),
                         attributes->Get<int32_t>(CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT),
                         attributes->Get<int64_t>(CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET)};
  if (matrix.rows < 1 || matrix.columns < 1 || matrix.batch < 1 || matrix.stride < 0 ||
      matrix.leading < matrix.rows) {
    call.Misuse("a matrix of no elements, or one that overlaps itself");
    return std::nullopt;
  }
  return matrix;
}

// Returns nothing, and notes a misuse, if the arguments do not fit together.
std::optional<Problem> ReadProblem(const Call& call, cublasLtMatmulDesc_t operation,
                                   const std::array<cublasLtMatrixLayout_t, 4>& layouts) {
  const Attributes* const attributes = OperationOf(call, operation);
  std::array<std::optional<Matrix>, 4> m;
  for (size_t i = 0; i < m.size(); ++i) m[i] = ReadMatrix(call, layouts[i]);
  if (attributes == nullptr || !m[0] || !m[1] || !m[2] || !m[3]) return std::nullopt;
  const auto get = [&](cublasLtMatmulDescAttributes_t name) {
    return attributes->Get<int32_t>(name);
  };
  Problem p = {*m[0], *m[1], *m[2], *m[3], false, false, false, false, false, false, nullptr};
  p.transposed_a = get(CUBLASLT_MATMUL_DESC_TRANSA) == CUBLAS_OP_T;
  p.transposed_b = get(CUBLASLT_MATMUL_DESC_TRANSB) == CUBLAS_OP_T;
  const int compute = get(CUBLASLT_MATMUL_DESC_COMPUTE_TYPE);
  p.tf32 = compute == CUBLAS_COMPUTE_32F_FAST_TF32;
  p.integers = compute == CUBLAS_COMPUTE_32I;
  const auto epilogue = attributes->Get<uint32_t>(CUBLASLT_MATMUL_DESC_EPILOGUE);
  p.relu = (epilogue & CUBLASLT_EPILOGUE_RELU) != 0;
  p.has_bias = (epilogue & CUBLASLT_EPILOGUE_BIAS) != 0;
  p.bias = attributes->Get<const void*>(CUBLASLT_MATMUL_DESC_BIAS_POINTER);
  const auto refuse = [&](const char* what) {
    call.Misuse(what);
    return std::nullopt;
  };
  if (compute != CUBLAS_COMPUTE_32F && !p.tf32 && !p.integers) {
    return refuse("a compute type not emulated");
  }
  if (p.tf32 && p.a.number != Number::kFloat) return refuse("TF32 of other types than Float32");
  if (get(CUBLASLT_MATMUL_DESC_SCALE_TYPE) != (p.integers ? CUDA_R_32I : CUDA_R_32F)) {
    return refuse("a scale type not emulated");
  }
  const bool sums_go = p.integers ? p.d.number == Number::kInt32
                                  : p.d.number == p.a.number || p.d.number == Number::kFloat;
  if (p.a.number != p.b.number || p.c.number != p.d.number || !sums_go ||
      (p.a.number == Number::kInt8) != p.integers || p.a.number == Number::kInt32) {
    return refuse("types that do not go together");
  }
  if ((epilogue & ~(CUBLASLT_EPILOGUE_DEFAULT | CUBLASLT_EPILOGUE_RELU_BIAS)) != 0) {
    return refuse("an epilogue not emulated");
  }
  if (p.has_bias && p.bias == nullptr) return refuse("a bias that is nowhere");
  const int bias_type = get(CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE);
  if (p.has_bias && bias_type != -1 && NumberOf(bias_type) != p.d.number) {
    return refuse("a bias of another type than the output");
  }
  const int64_t rows = p.transposed_a ? p.a.columns : p.a.rows;
  const int64_t inner = p.transposed_a ? p.a.rows : p.a.columns;
  const int64_t inner_b = p.transposed_b ? p.b.columns : p.b.rows;
  const int64_t columns = p.transposed_b ? p.b.rows : p.b.columns;
  if (inner != inner_b || rows != p.d.rows || columns != p.d.columns) {
    return refuse("sizes that do not go together");
  }
  if (p.a.batch != p.d.batch || p.b.batch != p.d.batch || p.c.batch != p.d.batch) {
    return refuse("batches of different counts");
  }
  if (p.d.batch > 1 && p.d.stride < p.d.leading * p.d.columns) {
    return refuse("outputs of a batch that overlap");
  }
  return p;
}

// Returns whether the documentation's conditions for integers on tensor cores hold, with matrices
// column by column. The first factor is transposed and the second is not. The rows of the result,
// the inner dimension and all leading dimensions are multiples of 4. Addresses are aligned to 4
// bytes, and nothing follows the sums.
bool AreSupported(const Problem& p, uint32_t alignment) {
  if (!p.integers) return true;
  for (const int64_t size : {p.d.rows, p.a.rows, p.a.leading, p.b.leading, p.c.leading, p.d.leading,
                             int64_t{alignment}}) {
    if (size % 4 != 0) return false;
  }
  return p.transposed_a && !p.transposed_b && !p.relu && !p.has_bias;
}

// The contents of an algorithm's bytes.
struct Algorithm {
  uint32_t id;
  uint32_t alignment;       // bytes, of A, B, C and D
  uint32_t bias_alignment;  // bytes
  uint32_t parts;    // slices of the inner dimension; their sums are rounded to the output's type
  uint32_t cluster;  // the only difference of two of them
  uint64_t workspace;
};
static_assert(sizeof(Algorithm) <= sizeof(cublasLtMatmulAlgo_t));
constexpr uint32_t kMark = 0x1ab0;  // the first algorithm's number

bool IsAligned(const void* data, uint64_t alignment) {
  return reinterpret_cast<uintptr_t>(data) % alignment == 0;
}

uint32_t AlignmentOf(const void* data) {
  uint32_t alignment = 256;
  while (!IsAligned(data, alignment)) alignment /= 2;
  return alignment;
}

// Returns the algorithms, best first. One of the two with a workspace adds up slices, if the types
// and the mask allow it.
std::vector<Algorithm> AlgorithmsFor(const Problem& p, const Attributes& preference) {
  uint32_t alignment = 256;
  for (const int name :
       {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES,
        CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES}) {
    alignment = std::min(alignment, preference.Get<uint32_t>(name));
  }
  const uint32_t mask = preference.Get<uint32_t>(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK);
  const uint64_t most = preference.Get<uint64_t>(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES);
  const uint32_t bias = p.has_bias ? AlignmentOf(p.bias) : 1;
  std::vector<Algorithm> algorithms;
  if (!AreSupported(p, alignment)) return algorithms;
  const auto add = [&](uint32_t id, uint32_t parts, uint64_t workspace, uint32_t cluster = 1) {
    if (workspace > most) return;
    algorithms.push_back({kMark + id, alignment, bias, parts, cluster, workspace});
  };
  if ((mask & CUBLASLT_REDUCTION_SCHEME_OUTPUT_TYPE) != 0) add(0, 8, 5000);
  if ((mask & CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE) != 0) add(1, 1, 33333);
  add(2, 1, 0);
  add(2, 1, 0, /*cluster=*/2);
  add(3, 1, 0);
  return algorithms;
}

// D = epilogue(alpha op(A) op(B) + beta C), column by column.
void Multiply(const Problem& p, double alpha, double beta, uint32_t parts, const void* a,
              const void* b, const void* c, void* d) {
  const int64_t inner = p.transposed_a ? p.a.rows : p.a.columns;
  const auto load = [&](const Matrix& matrix, const void* data, int64_t batch, bool transposed,
                        int64_t row, int64_t column) {
    if (transposed) std::swap(row, column);
    const double value =
        Load(matrix.number, data, batch * matrix.stride + column * matrix.leading + row);
    return p.tf32 ? AsTf32(value) : value;
  };
  std::vector<double> first(static_cast<size_t>(p.d.rows * inner));
  std::vector<double> results(static_cast<size_t>(p.d.rows * p.d.columns));
  const int64_t part = (inner + parts - 1) / parts;
  for (int64_t batch = 0; batch < p.d.batch; ++batch) {
    for (int64_t row = 0; row < p.d.rows; ++row) {
      for (int64_t i = 0; i < inner; ++i) {
        first[static_cast<size_t>(row * inner + i)] = load(p.a, a, batch, p.transposed_a, row, i);
      }
    }
    std::vector<double> second(static_cast<size_t>(inner));
    for (int64_t column = 0; column < p.d.columns; ++column) {
      for (int64_t i = 0; i < inner; ++i) {
        second[static_cast<size_t>(i)] = load(p.b, b, batch, p.transposed_b, i, column);
      }
      for (int64_t row = 0; row < p.d.rows; ++row) {
        double total = 0;
        for (int64_t begin = 0; begin < inner; begin += part) {
          double sum = 0;
          for (int64_t i = begin; i < std::min(inner, begin + part); ++i) {
            sum += first[static_cast<size_t>(row * inner + i)] * second[static_cast<size_t>(i)];
          }
          total = parts == 1 ? total + sum : Rounded(p.d.number, total + sum);
        }
        const int64_t place = batch * p.d.stride + column * p.d.leading + row;
        double value = alpha * total;
        if (beta != 0) {
          value += beta * Load(p.c.number, c, batch * p.c.stride + column * p.c.leading + row);
        }
        if (p.has_bias) value += Load(p.d.number, p.bias, row);
        if (p.relu && !(value > 0)) value = 0;  // true for NaN too
        Store(p.d.number, d, place, value);
      }
    }
  }
}

}  // namespace
}  // namespace ashlar::emulated

using namespace ashlar::emulated;

cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t handle,
                                              cublasLtMatmulDesc_t operation,
                                              cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
                                              cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d,
                                              cublasLtMatmulPreference_t preference, int requested,
                                              cublasLtMatmulHeuristicResult_t* results,
                                              int* count) {
  const Call call("cublasLtMatmulAlgoGetHeuristic");
  *count = 0;
  if (call.fails()) return CUBLAS_STATUS_INTERNAL_ERROR;
  const Attributes* const limits = PreferenceOf(call, preference);
  const std::optional<Problem> problem = ReadProblem(call, operation, {a, b, c, d});
  if (!IsCublasHandle(call, handle) || limits == nullptr || !problem || requested < 1) {
    return CUBLAS_STATUS_INVALID_VALUE;
  }
  for (const Algorithm& algorithm : AlgorithmsFor(*problem, *limits)) {
    if (*count == requested) break;
    cublasLtMatmulHeuristicResult_t& result = results[(*count)++];
    std::memset(&result, 0x5e, sizeof(result));
    // An algorithm that does not apply: only its state is valid.
    if (algorithm.id == kMark + 3) {
      result.state = CUBLAS_STATUS_NOT_SUPPORTED;
      continue;
    }
    result.state = CUBLAS_STATUS_SUCCESS;
    std::memcpy(&result.algo, &algorithm, sizeof(algorithm));
    result.workspaceSize = algorithm.workspace;
    result.wavesCount = 0.5f;
  }
  return *count > 0 ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_NOT_SUPPORTED;
}

cublasStatus_t cublasLtMatmulAlgoConfigGetAttribute(const cublasLtMatmulAlgo_t* algo,
                                                    cublasLtMatmulAlgoConfigAttributes_t name,
                                                    void* data, size_t size, size_t* written) {
  const Call call("cublasLtMatmulAlgoConfigGetAttribute");
  if (call.fails()) return CUBLAS_STATUS_INTERNAL_ERROR;
  Algorithm algorithm;
  std::memcpy(&algorithm, algo, sizeof(algorithm));
  const std::map<int, uint32_t> values = {
      {CUBLASLT_ALGO_CONFIG_ID, algorithm.id},
      {CUBLASLT_ALGO_CONFIG_TILE_ID, 20},
      {CUBLASLT_ALGO_CONFIG_SPLITK_NUM, algorithm.parts},
      {CUBLASLT_ALGO_CONFIG_REDUCTION_SCHEME, 0},
      {CUBLASLT_ALGO_CONFIG_CTA_SWIZZLING, 0},
      {CUBLASLT_ALGO_CONFIG_CUSTOM_OPTION, 0},
      {CUBLASLT_ALGO_CONFIG_STAGES_ID, 5},
      {CUBLASLT_ALGO_CONFIG_INNER_SHAPE_ID, 0},
      {CUBLASLT_ALGO_CONFIG_CLUSTER_SHAPE_ID, algorithm.cluster}};
  const bool is_short =
      name == CUBLASLT_ALGO_CONFIG_INNER_SHAPE_ID || name == CUBLASLT_ALGO_CONFIG_CLUSTER_SHAPE_ID;
  const auto value = values.find(name);
  if (value == values.end() || size != (is_short ? sizeof(uint16_t) : sizeof(uint32_t))) {
    call.Misuse("no such attribute, or of another size");
    return CUBLAS_STATUS_INVALID_VALUE;
  }
  std::memcpy(data, &value->second, size);
  *written = size;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmul(cublasLtHandle_t handle, cublasLtMatmulDesc_t operation,
                              const void* alpha, const void* a, cublasLtMatrixLayout_t a_layout,
                              const void* b, cublasLtMatrixLayout_t b_layout, const void* beta,
                              const void* c, cublasLtMatrixLayout_t c_layout, void* d,
                              cublasLtMatrixLayout_t d_layout, const cublasLtMatmulAlgo_t* algo,
                              void* workspace, size_t workspace_bytes, cudaStream_t stream) {
  const Call call("cublasLtMatmul");
  if (call.fails()) return CUBLAS_STATUS_EXECUTION_FAILED;
  const auto refuse = [&](const char* what) {
    call.Misuse(what);
    return CUBLAS_STATUS_INVALID_VALUE;
  };
  const std::optional<Problem> read =
      ReadProblem(call, operation, {a_layout, b_layout, c_layout, d_layout});
  if (!IsCublasHandle(call, handle) || !read) return CUBLAS_STATUS_INVALID_VALUE;
  const Problem& p = *read;
  Algorithm algorithm;
  std::memcpy(&algorithm, algo, sizeof(algorithm));
  if (algorithm.id < kMark || algorithm.id > kMark + 2) {
    return refuse("not an algorithm of the heuristics'");
  }
  const std::array<std::pair<const void*, const Matrix*>, 4> matrices = {
      {{a, &p.a}, {b, &p.b}, {c, &p.c}, {d, &p.d}}};
  for (const auto& [data, matrix] : matrices) {
    if (Find(data, matrix->Reach() * BytesOf(matrix->number)) != Place::kDevice) {
      return refuse("a matrix that is not memory of the device");
    }
    if (!IsAligned(data, algorithm.alignment)) {
      return refuse("a matrix not aligned as the heuristics were told");
    }
  }
  if (c == d && !(p.c == p.d)) return refuse("in place, with another layout");
  if (p.has_bias) {
    if (Find(p.bias, p.d.rows * BytesOf(p.d.number)) != Place::kDevice) {
      return refuse("a bias that is not memory of the device");
    }
    if (!IsAligned(p.bias, algorithm.bias_alignment)) {
      return refuse("a bias not aligned as the heuristics were told");
    }
  }
  if (workspace_bytes < algorithm.workspace) return refuse("the workspace is too small");
  const int64_t scratch = static_cast<int64_t>(algorithm.workspace);
  if (scratch > 0 && (Find(workspace, scratch) != Place::kDevice || !IsAligned(workspace, 16))) {
    return refuse("the workspace is not the device's, or no multiple of 16 bytes");
  }
  if (!AreSupported(p, algorithm.alignment)) return refuse("integers that no algorithm takes");
  const Number scales = p.integers ? Number::kInt32 : Number::kFloat;
  const double scale = Load(scales, alpha, 0), add = Load(scales, beta, 0);
  const cudaError_t error = Enqueue(call, stream, 10.0 + algorithm.id - kMark, [=] {
    if (scratch > 0) std::memset(workspace, 0xff, static_cast<size_t>(scratch));
    Multiply(p, scale, add, algorithm.parts, a, b, c, d);
  });
  return error == cudaSuccess ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_EXECUTION_FAILED;
}
