// Attention by blocks of queries and keys, so that only one block of the products is stored at a
// time. The softmax is corrected when larger products appear (Milakov and Gimelshein, Online
// normalizer calculation for softmax, 2018; Dao et al., FlashAttention, 2022).
#include "opr/attention.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "graph/region.h"
#include "graph/status.h"
#include "opr/base/strided.h"
#include "runtime/cpu/isa.h"
#include "runtime/cpu/kernels.h"
#include "runtime/cpu/matrix_tile.h"
#include "runtime/cpu/own_kernel.h"
#include "runtime/cpu/parallel.h"
#include "runtime/cpu/vector_math.h"

namespace ashlar::cpu {
namespace {

constexpr int64_t kTiles = 12;  // of queries per block, which share each packed block of keys
constexpr int64_t kPanels = 4;  // of keys per block
constexpr float kHidden = -std::numeric_limits<float>::infinity();

struct AttentionProblem {
  AttentionGeometry geometry;
  AttentionParam param;
  Strides mask;  // empty: none
  MatrixTiling tiling;
  int64_t panels = 0;  // panels in the values' width

  int64_t pitch() const { return panels * tiling.panel; }
  int64_t rows() const { return kTiles * tiling.max_rows; }  // queries per block
  int64_t block() const { return kPanels * tiling.panel; }   // keys per block
  // Float offsets in a thread's workspace: panels of keys, panels of values, products, sums; then
  // by row its largest product and the sum of its weights.
  int64_t keys_at() const { return 0; }
  int64_t values_at() const { return geometry.depth * block(); }
  int64_t scores_at() const { return values_at() + block() * pitch(); }
  int64_t sums_at() const { return scores_at() + rows() * block(); }
  int64_t most_at() const { return sums_at() + rows() * pitch(); }
  int64_t totals_at() const { return most_at() + rows(); }
  int64_t floats() const { return RoundUp(totals_at() + rows(), 16); }
};

// Packs `count` keys as columns of panels and `count` values as rows of panels, padded with zeros
// up to `padded`.
void PackBlock(PackPanelFunction pack, const float* keys, const float* values, int64_t count,
               int64_t padded, int64_t depth, int64_t width, int64_t panel, float* packed_keys,
               float* packed_values) {
  for (int64_t first = 0; first < padded; first += panel, packed_keys += depth * panel) {
    pack({keys + first * depth, 1, depth}, depth, std::min(panel, count - first), panel,
         packed_keys);
  }
  for (int64_t first = 0; first < width; first += panel, packed_values += padded * panel) {
    pack({values + first, width, 1}, count, std::min(panel, width - first), panel, packed_values);
    std::fill(packed_values + count * panel, packed_values + padded * panel, 0.0f);
  }
}

// Replaces the products of a row by weights, and products from `seen` on by 0. If the row has a
// larger product than before, its sums are scaled down.
void WeighRow(float* scores, int64_t seen, int64_t padded, float scale, const float* mask,
              int64_t mask_step, float* sums, int64_t width, float* most, float* total) {
  for (int64_t j = 0; j < seen; ++j) scores[j] *= scale;
  if (mask != nullptr) {
    for (int64_t j = 0; j < seen; ++j) scores[j] += mask[j * mask_step];
  }
  float greatest = *most;
#pragma omp simd reduction(max : greatest)
  for (int64_t j = 0; j < seen; ++j) greatest = scores[j] > greatest ? scores[j] : greatest;
  // If all products are hidden, there is no largest one.
  const float base = greatest == kHidden ? 0.0f : greatest;
  float sum = 0;
#pragma omp simd reduction(+ : sum)
  for (int64_t j = 0; j < seen; ++j) {
    scores[j] = expf(scores[j] - base);
    sum += scores[j];
  }
  std::fill(scores + seen, scores + padded, 0.0f);
  if (greatest != *most) {
    const float factor = expf(*most - base);
    *total *= factor;
    for (int64_t d = 0; d < width; ++d) sums[d] *= factor;
    *most = greatest;
  }
  *total += sum;
}

struct Functions {
  PackPanelFunction pack;
  decltype(&WeighRow) weigh;
  std::vector<MatrixTileFunction> multiply;  // by number of rows
};

// Multiplies `rows` rows of A by a packed panel; adds to C if `add`.
void Multiply(const AttentionProblem& p, const Functions& f, const float* a, int64_t a_pitch,
              int64_t rows, const float* panel, int64_t depth, float* c, int64_t c_pitch,
              bool add) {
  MatrixTile tile{
      .b = panel, .b_row = p.tiling.panel, .depth = depth, .c_row = c_pitch, .add = add};
  tile.prefetch = reinterpret_cast<const char*>(panel);  // in the cache: no prefetch
  for (int64_t row = 0; row < rows; row += p.tiling.max_rows) {
    const int64_t count = std::min(p.tiling.max_rows, rows - row);
    tile.a = {a + row * a_pitch, a_pitch, 1};
    tile.c = c + row * c_pitch;
    f.multiply[static_cast<size_t>(count)](tile);
  }
}

// Computes queries [first, first + rows) of one head.
void AttendBlock(const AttentionProblem& p, const Functions& f, const KernelArgs& args,
                 int64_t head_index, int64_t first, int64_t rows, float* workspace) {
  const AttentionGeometry& g = p.geometry;
  const int64_t n = head_index / g.heads, head = head_index % g.heads;
  const int64_t key_head = n * g.key_heads + head / (g.heads / g.key_heads);
  const auto input = [&](int i) { return static_cast<const float*>(args.inputs[i]); };
  const float* const q = input(Attention::kQueries) + (head_index * g.queries + first) * g.depth;
  float* const scores = workspace + p.scores_at();
  float* const sums = workspace + p.sums_at();
  float* const most = workspace + p.most_at();
  float* const totals = workspace + p.totals_at();
  std::fill_n(sums, rows * p.pitch(), 0.0f);
  std::fill_n(most, rows, kHidden);
  std::fill_n(totals, rows, 0.0f);
  const int64_t panel = p.tiling.panel, last = g.Seen(p.param, first + rows - 1);
  for (int64_t key = 0; key < last; key += p.block()) {
    const int64_t count = std::min(p.block(), last - key);
    const int64_t padded = RoundUp(count, panel);
    PackBlock(f.pack, input(Attention::kKeys) + (key_head * g.keys + key) * g.depth,
              input(Attention::kValues) + (key_head * g.keys + key) * g.width, count, padded,
              g.depth, g.width, panel, workspace + p.keys_at(), workspace + p.values_at());
    for (int64_t j = 0; j < padded; j += panel) {
      Multiply(p, f, q, g.depth, rows, workspace + p.keys_at() + j * g.depth, g.depth, scores + j,
               p.block(), /*add=*/false);
    }
    for (int64_t r = 0; r < rows; ++r) {
      const int64_t seen = std::clamp<int64_t>(g.Seen(p.param, first + r) - key, 0, count);
      const float* mask = nullptr;
      if (!p.mask.empty()) {
        mask = input(Attention::kMask) + n * p.mask[0] + head * p.mask[1] +
               (first + r) * p.mask[2] + key * p.mask[3];
      }
      f.weigh(scores + r * p.block(), seen, padded, static_cast<float>(p.param.scale), mask,
              mask ? p.mask[3] : 0, sums + r * p.pitch(), p.pitch(), most + r, totals + r);
    }
    for (int64_t i = 0; i < p.panels; ++i) {
      Multiply(p, f, scores, p.block(), rows, workspace + p.values_at() + i * padded * panel,
               padded, sums + i * panel, p.pitch(), /*add=*/true);
    }
  }
  float* out = args.Output<float>(0) + (head_index * g.queries + first) * g.width;
  for (int64_t r = 0; r < rows; ++r, out += g.width) {
    if (p.param.zero_nan && std::isnan(totals[r])) {
      std::fill_n(out, g.width, 0.0f);
      continue;
    }
    const float factor = totals[r] == 0 ? 0.0f : 1 / totals[r];
    for (int64_t d = 0; d < g.width; ++d) out[d] = sums[r * p.pitch() + d] * factor;
  }
}

absl::StatusOr<KernelList> MakeAttention(const Attention& op, const KernelRequest& request) {
  AttentionProblem p;
  ASHLAR_ASSIGN_OR_RETURN(p.geometry, Attention::GeometryOf(request.inputs));
  const AttentionGeometry& g = p.geometry;
  p.param = op.param();
  if (request.inputs.size() > Attention::kMask) {
    p.mask = BroadcastStrides(request.inputs[Attention::kMask].shape,
                              {g.batch, g.heads, g.queries, g.keys});
  }
  const Isa isa = request.processor.isa;
  p.tiling = MatrixTilingFor(isa);
  p.panels = (g.width + p.tiling.panel - 1) / p.tiling.panel;
  Functions functions = {PackPanelFor(isa), Versions<WeighRow>::For(isa), {nullptr}};
  for (int64_t rows = 1; rows <= p.tiling.max_rows; ++rows) {
    functions.multiply.push_back(MatrixTileFor(isa, rows));
  }
  const int threads = request.threads;
  const int64_t blocks = (g.queries + p.rows() - 1) / p.rows();
  return OnlyKernel(
      absl::StrCat("attention:", Name(isa)),
      [=](const KernelArgs& args) {
        ParallelPieces(threads, g.batch * g.heads * blocks, [&](int64_t piece, int thread) {
          const int64_t first = piece % blocks * p.rows();
          AttendBlock(p, functions, args, piece / blocks, first,
                      std::min(p.rows(), g.queries - first),
                      static_cast<float*>(args.workspace) + thread * p.floats());
        });
      },
      threads * p.floats() * static_cast<int64_t>(sizeof(float)));
}

}  // namespace

void RegisterAttentionKernels(KernelRegistry& registry) {
  registry.Register<Attention>(MakeAttention, {DType::kFloat32});
}

}  // namespace ashlar::cpu
