// MatrixMul and MatrixMulUpdate: matrix products by panels of B and tiles of rows, blocked for the
// caches (Goto and van de Geijn 2008, "Anatomy of High-Performance Matrix Multiplication").
//
// - A constant B is packed into panels once, in 16 bits if its values are 16-bit floats. They are
//   widened when read, a slice of a panel at a time.
// - If B is computed, each thread packs the part of a panel that it needs. If few rows use it, it
//   is read in place.
// - A is read in place, or packed in workspace if its rows would compete for few cache sets.
//
// Each element is the same sum, whichever rows and matrices are computed with it, and on any number
// of threads.
#include "opr/matrix_mul.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

#include "graph/region.h"
#include "graph/status.h"
#include "opr/matrix_mul_update.h"
#include "runtime/cpu/amx_kernels.h"
#include "runtime/cpu/doubles.h"
#include "runtime/cpu/element.h"
#include "runtime/cpu/float16.h"
#include "runtime/cpu/isa.h"
#include "runtime/cpu/kernels.h"
#include "runtime/cpu/matrix_tile.h"
#include "runtime/cpu/parallel.h"

namespace ashlar::cpu {
namespace {

constexpr int kA = 0, kB = 1;

// Rows of B whose products are summed before they are added to the output. This keeps long sums
// accurate, and a slice of a panel in the first-level cache while rows of A pass.
constexpr int64_t kMostDepth = 256;
// Prefetch distances in elements of B if few rows use it: if one tile uses the whole panel as it is
// read, and if the next tile reads it again.
constexpr int64_t kAheadOfOne = 512, kAheadOfTwo = 2048;
// If few rows use a computed B: panels of a row of B that are read together, and the prefetch
// distance in panels.
constexpr int64_t kPanelsOfRow = 16, kPanelsAhead = 2;
// With at most so many rows of B, writing the output dominates, so it is written row by row.
constexpr int64_t kShallow = 32;
// Products below which another thread is not worth waking, and below which a separate piece of work
// is not worth it.
constexpr int64_t kProductsPerThread = 64 * 1024, kProductsPerPiece = 256 * 1024;

// The rows [depth, depth + length) of some adjacent panels.
struct Slice {
  int64_t panel, panels, depth, length;
};

// Packing A is only worth it with at least so many panels.
constexpr int64_t kLeastPanels = 8;
// Expected relative time if A is read in place although packing would be worth it.
constexpr double kUnpackedTime = 1.1;

constexpr int64_t kMatrixLine = 64;  // bytes of a cache line

// A queue of cache lines to prefetch into the second-level cache, over several equally spaced
// ranges.
class LinesAhead {
 public:
  LinesAhead() = default;
  LinesAhead(const void* first, int64_t ranges, int64_t distance, int64_t bytes)
      : range_(static_cast<const char*>(first)),
        distance_(distance),
        bytes_(bytes),
        left_(ranges * CeilDivide(bytes, kMatrixLine)) {}
  int64_t left() const { return left_; }
  void Fetch(int64_t lines) {
    for (; lines > 0 && left_ > 0; --lines, --left_) {
      __builtin_prefetch(range_ + offset_, 0, 2);
      offset_ += kMatrixLine;
      if (offset_ < bytes_) continue;
      offset_ = 0;
      range_ += distance_;
    }
  }

 private:
  const char* range_ = nullptr;
  int64_t distance_ = 0, bytes_ = 0, offset_ = 0, left_ = 0;
};

// Returns the part of a packing's key that names the dtype of a packed B.
const char* KeyOf(DType dtype) {
  return dtype == DType::kFloat16 ? " halves" : dtype == DType::kBFloat16 ? " BFloat16" : "";
}

constexpr int64_t kPage = 4096;
constexpr int64_t kLeastBlockTiles = 8;  // tiles that share a slice packed for them
// Each block packs its slice of a computed B again, so at least so many rows must share it.
constexpr int64_t kLeastSharing = 256;

// Returns the start of `part` of `parts` equal parts of `count`.
int64_t Begin(int64_t count, int64_t part, int64_t parts) { return count * part / parts; }

// Returns how crowded cache sets are (1: not), for parts of rows of `k` elements. Rows whose
// distance is a multiple of a large power of two compete for few sets.
int64_t Crowding(int64_t k, int64_t part_bytes) {
  const int64_t pitch = k * kFloatBytes, power = std::min(pitch & -pitch, kPage);
  return std::max<int64_t>(1, power / part_bytes);
}

class MatrixMulKernel final : public Kernel {
 public:
  // With `alpha`, computes alpha * input MatrixMulUpdate::kDest + the product.
  MatrixMulKernel(const MatrixMulParam& param, const MatrixMulGeometry& geometry,
                  const KernelRequest& request, std::optional<float> alpha, bool packs_a);

  std::string implementation() const override {
    return absl::StrCat(alpha_ ? "matrix_mul_update:" : "matrix_mul:", Name(isa_),
                        packs_a_ ? " packed A" : "");
  }
  int64_t workspace_bytes() const override { return packs_a_ ? threads_ * BlockBytes() : 0; }
  double relative_time() const override {
    return packs_a_ || !WorthPackingA() ? 1.0 : kUnpackedTime;
  }
  // Whether the variant that packs A in workspace is likely to be faster.
  bool WorthPackingA() const;

  std::optional<Packing> packing(int input) const override {
    if (input != kB || !packed_) return std::nullopt;
    return Packing{absl::StrCat("panels of ", tiling_.panel, KeyOf(dtype_),
                                transposed_b_ ? " transposed" : ""),
                   matrices_b_ * geometry_.k * geometry_.n * ElementBytes()};
  }
  absl::Status Pack(int input, const HostTensor& value, void* packed) const override;
  absl::Status Run(const KernelArgs& args, KernelState* state) const override;

 private:
  struct Pointers {
    MatrixView a, b;  // one pair of matrices; b is empty if B is packed
    const char* packed_b = nullptr;
    const float* dest;  // the addend; null: none
    float* c;
    float* packed_a;  // one block of rows
  };

  MatrixView ViewOfB(const float* b) const {
    const int64_t k = geometry_.k, n = geometry_.n;
    return transposed_b_ ? MatrixView{b, 1, k} : MatrixView{b, n, 1};
  }
  int64_t ColumnsOf(int64_t panel) const {
    return std::min(tiling_.panel, geometry_.n - panel * tiling_.panel);
  }
  void CutIntoPieces(int64_t pieces);
  bool FewRows(int64_t rows) const { return rows <= 2 * tiling_.max_rows; }
  int64_t ElementBytes() const { return halves_ ? kHalfBytes : kFloatBytes; }  // in a packed B
  int64_t depth() const { return CeilDivide(geometry_.k, depths_); }  // of the longest slice
  int64_t BlockBytes() const { return block_rows_ * depth() * kFloatBytes; }
  void RunPiece(const Pointers& matrices, int64_t first_row, int64_t rows, int64_t first_panel,
                int64_t end_panel) const;
  void Scale(const Pointers& matrices, Range rows, Range panels) const;
  void PackA(MatrixView a, int64_t rows, int64_t length, float* to) const;
  void RunSlice(const Pointers& matrices, int64_t first_row, int64_t rows,
                const Slice& slice) const;
  template <typename Body>
  void ForTiles(MatrixTile tile, int64_t rows, const Body& body) const;
  LinesAhead NextPanel(const MatrixView& b, const Slice& slice) const;
  void RunTiles(MatrixTile tile, int64_t rows, const MatrixTileFunction* tiles,
                LinesAhead ahead) const;
  void RunNarrowTiles(MatrixTile tile, int64_t rows, int64_t columns,
                      const MatrixTileFunction* tiles) const;

  MatrixMulGeometry geometry_;
  int64_t pairs_;  // pairs of matrices; if B is one matrix, the rows of all A count as one A
  const Isa isa_;
  const MatrixTiling tiling_ = MatrixTilingFor(isa_);
  const PackPanelFunction pack_ = PackPanelFor(isa_);
  MatrixTileFunction tiles_[kMostTileRows + 1] = {},
                                            half_tiles_[kMostTileRows + 1] = {};  // by rows
  const std::optional<float> alpha_;
  const bool transposed_a_, transposed_b_;
  const bool packs_a_;
  const bool packed_;  // B is constant and packed
  const DType dtype_;  // of a packed B
  const bool halves_ = Is16BitFloat(dtype_);
  const WidenFunction widen_ = WidenFor(dtype_, isa_);
  const int64_t matrices_b_;                  // matrices of B
  const int64_t depths_;                      // slices of a panel
  WideMatrixTile wide_;                       // for all rows at once, if they are few
  MatrixTileFunction wide_halves_ = nullptr;  // the same for a B of 16 bits
  int64_t block_rows_;                        // rows of A that stay in the second-level cache
  int threads_;
  // A piece of work: some panels of a pair of matrices, and some of its rows.
  int64_t panels_, panel_parts_, row_parts_;
};

MatrixMulKernel::MatrixMulKernel(const MatrixMulParam& param, const MatrixMulGeometry& geometry,
                                 const KernelRequest& request, std::optional<float> alpha,
                                 bool packs_a)
    : geometry_(geometry),
      pairs_(geometry.batch.num_elements()),
      isa_(request.processor.isa),
      alpha_(alpha),
      transposed_a_(param.transposeA),
      transposed_b_(param.transposeB),
      packs_a_(packs_a),
      packed_(request.constant[kB]),
      dtype_(packed_ && !request.exact_in.empty() ? request.exact_in[kB] : DType::kFloat32),
      matrices_b_(request.inputs[kB].shape.num_elements() / (geometry.k * geometry.n)),
      depths_(CeilDivide(geometry.k, kMostDepth)) {
  if (matrices_b_ == 1 && !transposed_a_) geometry_.m *= std::exchange(pairs_, 1);
  for (int64_t rows = 1; rows <= tiling_.max_rows; ++rows) {
    tiles_[rows] = MatrixTileFor(isa_, rows);
    half_tiles_[rows] = HalfMatrixTileFor(isa_, rows);
  }
  const int64_t m = geometry_.m, k = geometry_.k, n = geometry_.n;
  const bool in_rows = packed_ || !transposed_b_;
  const bool wide = in_rows && m <= tiling_.max_rows;
  if (wide && halves_) wide_halves_ = WideHalvesTileFor(isa_, m, dtype_);
  if (wide && (!halves_ || wide_halves_ != nullptr)) wide_ = WideMatrixTileFor(isa_, m);
  const int64_t depth_bytes = depth() * kFloatBytes;
  block_rows_ = std::max(
      request.processor.l2_bytes / (2 * depth_bytes * (packs_a_ ? 1 : Crowding(k, depth_bytes))),
      packed_ ? kLeastBlockTiles * tiling_.max_rows : kLeastSharing);
  if (!packed_ && !transposed_b_ && k <= kShallow) block_rows_ = 2 * tiling_.max_rows;
  panels_ = CeilDivide(n, tiling_.panel);
  const int64_t worth = pairs_ * m * n / CeilDivide(kProductsPerThread, k);
  threads_ = static_cast<int>(std::clamp<int64_t>(worth, 1, request.threads));
  // Each thread gets equally many pieces; otherwise all would wait for one.
  const int64_t each = std::clamp<int64_t>(
      CeilDivide(worth * kProductsPerThread, kProductsPerPiece * threads_), 1, kRangesPerThread);
  CutIntoPieces(threads_ == 1 ? 1 : CeilDivide(each * threads_, pairs_));
}

// Cuts a pair of matrices into pieces, by panels if there are enough. If A is packed, each part of
// the panels packs A again, and each block of rows packs B again. The cut then minimises the packed
// elements.
void MatrixMulKernel::CutIntoPieces(int64_t pieces) {
  const int64_t m = geometry_.m, units = CeilDivide(panels_, wide_.panels);
  const auto row_parts = [&](int64_t panel_parts) {
    return std::min(CeilDivide(m, tiling_.max_rows), CeilDivide(pieces, panel_parts));
  };
  const auto packed_elements = [&](int64_t panel_parts) {
    const int64_t parts = row_parts(panel_parts);
    const int64_t blocks = parts * CeilDivide(CeilDivide(m, parts), block_rows_);
    return geometry_.k * (m * panel_parts + (packed_ ? 0 : geometry_.n * blocks));
  };
  panel_parts_ = std::min(units, pieces);
  if (packs_a_) {
    for (int64_t parts = panel_parts_ - 1; parts >= 1; --parts) {
      const bool even = parts * row_parts(parts) == pieces;
      if (even && packed_elements(parts) < packed_elements(panel_parts_)) panel_parts_ = parts;
    }
  }
  row_parts_ = row_parts(panel_parts_);
}

bool MatrixMulKernel::WorthPackingA() const {
  return !transposed_a_ && Crowding(geometry_.k, depth() * kFloatBytes) > 1 &&
         geometry_.k > kShallow && !FewRows(geometry_.m) && panels_ >= kLeastPanels;
}

absl::Status MatrixMulKernel::Pack(int /*input*/, const HostTensor& value, void* packed) const {
  const float* b = value.data<float>().data();
  char* to = static_cast<char*>(packed);
  std::vector<float> floats(static_cast<size_t>(halves_ ? geometry_.k * tiling_.panel : 0));
  for (int64_t matrix = 0; matrix < matrices_b_; ++matrix) {
    for (int64_t panel = 0; panel < panels_; ++panel) {
      const int64_t columns = ColumnsOf(panel);
      pack_(ViewOfB(b).At(0, panel * tiling_.panel), geometry_.k, columns, columns,
            halves_ ? floats.data() : reinterpret_cast<float*>(to));
      if (halves_) {
        NarrowFor(dtype_, isa_)(floats.data(), reinterpret_cast<uint16_t*>(to),
                                geometry_.k * columns);
      }
      to += geometry_.k * columns * ElementBytes();
    }
    b += geometry_.k * geometry_.n;
  }
  return absl::OkStatus();
}

absl::Status MatrixMulKernel::Run(const KernelArgs& args, KernelState* /*state*/) const {
  const float* const a = args.Input<float>(kA);
  const float* const b = args.Input<float>(kB);
  float* const c = args.Output<float>(0);
  const float* const dest = alpha_ ? args.Input<float>(MatrixMulUpdate::kDest) : nullptr;
  const MatrixMulGeometry& g = geometry_;
  const int64_t parts = panel_parts_ * row_parts_;
  ParallelPieces(threads_, pairs_ * parts, [&](int64_t piece, int thread) {
    const int64_t matrix = piece / parts, row_part = piece % row_parts_;
    const int64_t panel_part = piece % parts / row_parts_;
    Pointers matrices;
    matrices.a = transposed_a_ ? MatrixView{a, 1, g.m} : MatrixView{a, g.k, 1};
    matrices.a.data += g.OffsetOfA(matrix);
    if (packed_) {
      matrices.packed_b = args.Input<char>(kB) + g.OffsetOfB(matrix) * ElementBytes();
    } else {
      matrices.b = ViewOfB(b);
      matrices.b.data += g.OffsetOfB(matrix);
    }
    matrices.dest = dest == nullptr ? nullptr : dest + matrix * g.m * g.n;
    matrices.c = c + matrix * g.m * g.n;
    matrices.packed_a = static_cast<float*>(args.workspace) + thread * BlockBytes() / kFloatBytes;
    const int64_t row = Begin(g.m, row_part, row_parts_);
    const int64_t units = CeilDivide(panels_, wide_.panels);
    RunPiece(matrices, row, Begin(g.m, row_part + 1, row_parts_) - row,
             Begin(units, panel_part, panel_parts_) * wide_.panels,
             std::min(Begin(units, panel_part + 1, panel_parts_) * wide_.panels, panels_));
  });
  return absl::OkStatus();
}

void MatrixMulKernel::RunPiece(const Pointers& matrices, int64_t first_row, int64_t rows,
                               int64_t first_panel, int64_t end_panel) const {
  const int64_t blocks = CeilDivide(rows, block_rows_);
  // With few rows, the time to read B dominates, so each panel is read from start to end. Otherwise
  // all panels pass over a part of A's columns.
  const int64_t few = packed_ || transposed_b_ ? wide_.panels : kPanelsOfRow;
  const int64_t group = FewRows(rows) ? few : end_panel - first_panel;
  for (int64_t block = 0; block < blocks; ++block) {
    const int64_t row = first_row + Begin(rows, block, blocks);
    const int64_t end_row = first_row + Begin(rows, block + 1, blocks);
    for (int64_t first = first_panel; first < end_panel; first += group) {
      const int64_t end = std::min(first + group, end_panel);
      if (alpha_) Scale(matrices, {row, end_row}, {first, end});
      for (int64_t i = 0; i < depths_; ++i) {
        const int64_t depth = Begin(geometry_.k, i, depths_);
        const int64_t length = Begin(geometry_.k, i + 1, depths_) - depth;
        if (packs_a_) PackA(matrices.a.At(row, depth), end_row - row, length, matrices.packed_a);
        int64_t panels = wide_.panels;
        for (int64_t panel = first; panel < end; panel += panels) {
          if (panel + panels > end || (panel + panels) * tiling_.panel > geometry_.n) panels = 1;
          RunSlice(matrices, row, end_row - row, {panel, panels, depth, length});
        }
      }
    }
  }
}

// Initialises C with alpha * dest, for these rows and panels.
void MatrixMulKernel::Scale(const Pointers& matrices, Range rows, Range panels) const {
  const int64_t begin = panels.begin * tiling_.panel;
  const int64_t end = std::min(panels.end * tiling_.panel, geometry_.n);
  for (int64_t r = rows.begin; r < rows.end; ++r) {
    const float* const from = matrices.dest + r * geometry_.n;
    float* const to = matrices.c + r * geometry_.n;
    for (int64_t j = begin; j < end; ++j) to[j] = *alpha_ * from[j];
  }
}

// Calls body(tile, tile_rows) for tiles of nearly equal size that together have `rows` rows. `tile`
// has the shared arguments; its pointers refer to the first row.
template <typename Body>
void MatrixMulKernel::ForTiles(MatrixTile tile, int64_t rows, const Body& body) const {
  const int64_t count = CeilDivide(rows, tiling_.max_rows);
  const int64_t least = rows / count, longer = rows % count;  // `longer` tiles have one more row
  for (int64_t i = 0; i < count; ++i) {
    const int64_t tile_rows = least + (i < longer);
    if (packs_a_) tile.a.row = 1, tile.a.column = tile_rows;
    body(tile, tile_rows);
    tile.a.data += tile_rows * (packs_a_ ? tile.depth : tile.a.row);
    tile.c += tile_rows * tile.c_row;
  }
}

// Packs a block of rows tile by tile. In each tile, the elements of a column of A are adjacent.
void MatrixMulKernel::PackA(MatrixView a, int64_t rows, int64_t length, float* to) const {
  MatrixTile tile;
  tile.a = {to, 0, 0};
  tile.depth = length;
  ForTiles(tile, rows, [&](const MatrixTile& packed, int64_t tile_rows) {
    float* const columns = to + (packed.a.data - to);
    pack_({a.data, a.column, a.row}, length, tile_rows, tile_rows, columns);
    a.data += tile_rows * a.row;
  });
}

// Adds the products of a slice to rows [first_row, first_row + rows).
void MatrixMulKernel::RunSlice(const Pointers& matrices, int64_t first_row, int64_t rows,
                               const Slice& slice) const {
  const int64_t k = geometry_.k, columns = ColumnsOf(slice.panel);
  const int64_t first = slice.panel * tiling_.panel;
  const char* const packed =
      packed_ ? matrices.packed_b + (first * k + slice.depth * columns) * ElementBytes() : nullptr;
  MatrixView b = packed_ ? MatrixView{reinterpret_cast<const float*>(packed), columns, 1}
                         : matrices.b.At(slice.depth, first);
  MatrixTile tile;
  tile.a = packs_a_ ? MatrixView{matrices.packed_a, 0, 0} : matrices.a.At(first_row, slice.depth);
  tile.b_panel = packed_ ? tiling_.panel * k : tiling_.panel;
  tile.depth = slice.length;
  tile.c = matrices.c + first_row * geometry_.n + first;
  tile.c_row = geometry_.n;
  tile.add = alpha_ || slice.depth > 0;
  // Prefetches further on in the panel if few rows use it, otherwise the next panel.
  const bool more = packed_ && slice.panel + slice.panels < panels_;
  const int64_t ahead = !FewRows(rows)     ? tile.b_panel
                        : slice.panels > 1 ? kAheadOfOne
                                           : kAheadOfTwo;
  tile.prefetch = reinterpret_cast<const char*>(b.data + (more && !halves_ ? ahead : 0));
  tile.prefetch_step = more ? tiling_.panel * kFloatBytes : 0;
  alignas(64) float buffer[kMostDepth * kWidestPanel];
  if (halves_) {
    if (slice.panels > 1) {
      tile.b = b.data;
      tile.b_row = b.row;
      return wide_halves_(tile);
    }
    widen_(reinterpret_cast<const uint16_t*>(packed), buffer, slice.length * columns);
    b.data = buffer;
    tile.prefetch_step = 0;
  }
  const bool packs = !packed_ && (b.column != 1 || !FewRows(rows));
  const bool half = columns <= tiling_.panel / 2;
  const int64_t width = half ? tiling_.panel / 2 : tiling_.panel;
  alignas(64) float filled[kMostDepth * kWidestPanel];  // padded copy of a slice in `buffer`
  if (packs || columns < width) {
    float* const to = halves_ ? filled : buffer;
    pack_(b, slice.length, columns, width, to);
    b = {to, width, 1};
    tile.b_panel = 0;
  }
  if (!packed_ && !packs) {
    tile.prefetch = reinterpret_cast<const char*>(b.data + kPanelsAhead * tiling_.panel);
    tile.prefetch_step = b.row * kFloatBytes;
  }
  tile.b = b.data;
  tile.b_row = b.row;
  const MatrixTileFunction* const tiles = half ? half_tiles_ : tiles_;
  if (columns < width) {
    RunNarrowTiles(tile, rows, columns, tiles);
  } else if (slice.panels > 1) {
    wide_.run(tile);
  } else {
    RunTiles(tile, rows, tiles, packs ? NextPanel(matrices.b, slice) : LinesAhead());
  }
}

// Returns the slice of the next panel of a computed B, which is packed next.
LinesAhead MatrixMulKernel::NextPanel(const MatrixView& b, const Slice& slice) const {
  const int64_t panel = slice.panel + 1;
  if (panel >= panels_) return {};
  const MatrixView next = b.At(slice.depth, panel * tiling_.panel);
  const int64_t columns = ColumnsOf(panel);
  if (next.column == 1)
    return {next.data, slice.length, next.row * kFloatBytes, columns * kFloatBytes};
  return {next.data, columns, next.column * kFloatBytes, slice.length * kFloatBytes};
}

// Together the tiles prefetch the next packed panel, or `ahead`, each an equal part.
void MatrixMulKernel::RunTiles(MatrixTile tile, int64_t rows, const MatrixTileFunction* tiles,
                               LinesAhead ahead) const {
  const int64_t lines = CeilDivide(ahead.left(), CeilDivide(rows, tiling_.max_rows));
  if (packed_)
    tile.prefetch_step = CeilDivide(tile.prefetch_step, CeilDivide(rows, tiling_.max_rows));
  const char* prefetch = tile.prefetch;
  ForTiles(tile, rows, [&](MatrixTile& one, int64_t tile_rows) {
    one.prefetch = prefetch;
    ahead.Fetch(lines);
    tiles[tile_rows](one);
    if (packed_) prefetch += tile.prefetch_step * tile.depth;
  });
}

// The same for a panel with fewer `columns`.
void MatrixMulKernel::RunNarrowTiles(MatrixTile tile, int64_t rows, int64_t columns,
                                     const MatrixTileFunction* tiles) const {
  alignas(64) float sums[kMostTileRows * kWidestPanel];
  ForTiles(tile, rows, [&](MatrixTile one, int64_t tile_rows) {
    float* c = std::exchange(one.c, sums);
    const int64_t c_row = std::exchange(one.c_row, tiling_.panel);
    const bool add = std::exchange(one.add, false);
    tiles[tile_rows](one);
    for (int64_t r = 0; r < tile_rows; ++r, c += c_row) {
      const float* const from = sums + r * tiling_.panel;
      for (int64_t j = 0; j < columns; ++j) c[j] = add ? c[j] + from[j] : from[j];
    }
  });
}

// A kernel for sums of no products: it writes 0, or a copy of `dest`.
class EmptySums final : public Kernel {
 public:
  EmptySums(int64_t bytes, bool adds) : bytes_(bytes), adds_(adds) {}
  std::string implementation() const override { return "matrix_mul:empty sums"; }
  absl::Status Run(const KernelArgs& args, KernelState*) const override {
    float* const output = args.Output<float>(0);
    if (!adds_) {
      std::memset(output, 0, static_cast<size_t>(bytes_));
    } else if (const float* const dest = args.Input<float>(MatrixMulUpdate::kDest);
               dest != output) {
      std::memcpy(output, dest, static_cast<size_t>(bytes_));
    }
    return absl::OkStatus();
  }

 private:
  const int64_t bytes_;
  const bool adds_;
};

// Returns the kernel without workspace. If packing A is likely to be faster, that variant comes
// first.
absl::StatusOr<KernelList> MakeKernels(const MatrixMulParam& param, const KernelRequest& request,
                                       std::optional<float> alpha = std::nullopt) {
  ASHLAR_ASSIGN_OR_RETURN(const MatrixMulGeometry geometry,
                          InferMatrixMul(param, request.inputs[kA], request.inputs[kB]));
  KernelList kernels;
  if (geometry.k == 0) {
    kernels.push_back(std::make_unique<EmptySums>(request.outputs[0].bytes(), alpha.has_value()));
    return kernels;
  }
  auto plain = std::make_unique<MatrixMulKernel>(param, geometry, request, alpha, false);
  if (plain->WorthPackingA() && !request.policy.low_workspace) {
    kernels.push_back(std::make_unique<MatrixMulKernel>(param, geometry, request, alpha, true));
  }
  kernels.push_back(std::move(plain));
  return kernels;
}

absl::StatusOr<KernelList> MakeMatrixMul(const MatrixMul& op, const KernelRequest& request) {
  if (request.inputs[0].dtype == DType::kFloat64) return DoubleMatrixMul(op, request);
  if (request.inputs[kA].dtype == DType::kBFloat16) {
    KernelList kernels;
    kernels.push_back(AmxBFloat16MatrixMul(op.param(), request));
    if (kernels[0] != nullptr) return kernels;
    return absl::UnimplementedError("products of BFloat16: by kernels of floats");
  }
  return MakeKernels(op.param(), request);
}

absl::StatusOr<KernelList> MakeMatrixMulUpdate(const MatrixMulUpdate& op,
                                               const KernelRequest& request) {
  return MakeKernels(op.param(), request, static_cast<float>(op.param().alpha));
}

}  // namespace

void RegisterMatrixMulKernels(KernelRegistry& registry) {
  registry.Register<MatrixMul>(MakeMatrixMul, {DType::kFloat32, DType::kBFloat16, DType::kFloat64});
  registry.Register<MatrixMulUpdate>(MakeMatrixMulUpdate, {DType::kFloat32});
}

}  // namespace ashlar::cpu
