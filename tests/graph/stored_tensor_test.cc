// Tensors whose bytes lie in a file.
#include "graph/stored_tensor.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <random>
#include <vector>

#include "absl/strings/str_cat.h"

namespace ashlar {
namespace {

std::shared_ptr<std::vector<uint8_t>> RandomFile(size_t bytes) {
  auto file = std::make_shared<std::vector<uint8_t>>(bytes);
  std::mt19937 random(5);
  for (uint8_t& byte : *file) byte = static_cast<uint8_t>(random());
  return file;
}

bool AreSame(double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }

// Bytes of a file begin anywhere. They are shared if they can be read in place.
TEST(StoredTensorTest, IsConvertedWhenItIsAskedFor) {
  const auto file = RandomFile(1 << 12);
  for (const DType stored : {DType::kFloat32, DType::kInt64, DType::kInt8, DType::kUint16,
                             DType::kFloat16, DType::kBFloat16, DType::kBool}) {
    for (const int64_t offset : {0, 1, 2, 4, 8, 13}) {
      SCOPED_TRACE(absl::StrCat(Name(stored), " at ", offset));
      const int64_t size = SizeOf(stored);
      const uint8_t* const data = file->data() + offset;
      const HostTensor tensor = StoredTensor(stored, {7, 9}, file, data);
      const bool wide = stored == DType::kFloat16 || stored == DType::kBFloat16;
      const bool shared = offset % size == 0 && !wide && stored != DType::kBool;
      ASSERT_EQ(tensor.dtype(), wide ? DType::kFloat32 : stored);
      EXPECT_TRUE(HasElementsApart(tensor));
      const HostTensor computed = tensor.Computed(), part = ElementsOf(tensor, 20, 5);
      EXPECT_EQ(computed.raw() == data, shared);
      if (stored != DType::kBool) {
        EXPECT_EQ(tensor.source().raw(), data);
        EXPECT_EQ(part.source().raw(), data + 20 * size);
        EXPECT_EQ(part.source().bytes(), 5 * size);
      }
      for (int64_t i = 0; i < 63; ++i) {
        HostTensor expected = HostTensor::Zeros(stored, {1});
        std::memcpy(expected.mutable_raw(), data + i * size, static_cast<size_t>(size));
        if (stored == DType::kBool) expected.Set(0, data[i] != 0);
        EXPECT_TRUE(AreSame(computed.At(i), expected.At(0))) << i;
        EXPECT_TRUE(AreSame(tensor.At(i), expected.At(0))) << i;
        if (i >= 20 && i < 25) {
          EXPECT_TRUE(AreSame(part.At(i - 20), expected.At(0))) << i;
        }
      }
    }
  }
}

TEST(StoredTensorTest, KeepsItsTypeWhenItIsComputed) {
  const auto file = std::make_shared<std::vector<uint8_t>>(64, 1);
  const Quantization scales = *Quantization::Make(DType::kQuantizedS32, {0.5F});
  const HostTensor tensor =
      StoredTensor(DType::kInt32, {3}, file, file->data() + 1).As(DType::kQuantizedS32, scales);
  for (const HostTensor& same :
       {tensor.Computed(), ElementsOf(tensor, 1, 2), tensor.Reshaped({3, 1})}) {
    EXPECT_EQ(same.dtype(), DType::kQuantizedS32);
    EXPECT_EQ(same.quantization().scale(), 0.5F);
    EXPECT_EQ(same.IntegerAt(1), 0x01010101);
  }
}

HostTensor Incremented(const HostTensor& from) {
  HostTensor sum = HostTensor::Zeros(from.dtype(), from.shape());
  for (int64_t i = 0; i < from.num_elements(); ++i) sum.SetInteger(i, from.IntegerAt(i) + 1);
  return sum;
}

// Pieces of 1 MiB, of which the last one is smaller.
TEST(StoredTensorTest, PiecesHaveAllElementsInOrder) {
  constexpr int64_t kElements = (5 << 17) + 3;
  const auto file = RandomFile(kElements * 4 + 1);
  const HostTensor odd = StoredTensor(DType::kInt32, {kElements}, file, file->data() + 1);
  const HostTensor copy = odd.Computed();
  const HostTensor added = HostTensor::Deferred(copy, Incremented);
  const HostTensor added_to_odd = HostTensor::Deferred(odd, Incremented);
  EXPECT_TRUE(HasElementsApart(odd) && HasElementsApart(copy));
  EXPECT_FALSE(HasElementsApart(added) || HasElementsApart(added_to_odd));
  EXPECT_EQ(added_to_odd.source().raw(), odd.source().raw());
  EXPECT_EQ(added_to_odd.source().bytes(), odd.source().bytes());
  for (const HostTensor* tensor : {&odd, &copy, &added, &added_to_odd}) {
    const HostTensor expected = tensor->Computed();
    int64_t at = 0, pieces = 0;
    EXPECT_TRUE(ForPieces(*tensor, [&](const HostTensor& piece) {
                  ++pieces;
                  EXPECT_LE(piece.bytes(), 1 << 20);
                  const int32_t* const from = expected.data<int32_t>().data() + at;
                  EXPECT_EQ(std::memcmp(piece.raw(), from, piece.bytes()), 0);
                  at += piece.num_elements();
                  return absl::OkStatus();
                }).ok());
    EXPECT_EQ(at, kElements);
    EXPECT_EQ(pieces, 3);
  }
  EXPECT_TRUE(HaveSameBytes(odd, copy) && HaveSameBytes(copy, odd) && HaveSameBytes(odd, odd));
  EXPECT_TRUE(HaveSameBytes(added, added_to_odd));
  EXPECT_FALSE(HaveSameBytes(odd, added) || HaveSameBytes(added_to_odd, copy));
  EXPECT_FALSE(ShareBytes(odd, added_to_odd) || ShareBytes(odd, copy));
  const absl::Status stopped =
      ForPieces(odd, [](const HostTensor&) { return absl::AbortedError("stop"); });
  EXPECT_EQ(stopped.message(), "stop");
}

// Pages without access: reading one of their bytes would end the test.
TEST(StoredTensorTest, SharedBytesAreEqualWithoutBeingRead) {
  constexpr size_t kBytes = 1 << 16;
  void* const pages = mmap(nullptr, kBytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(pages, MAP_FAILED);
  const std::shared_ptr<const void> owner(pages, [](void* at) { munmap(at, kBytes); });
  for (const int64_t offset : {0, 1}) {
    for (const DType stored : {DType::kFloat32, DType::kBFloat16}) {
      const char* const data = static_cast<const char*>(pages) + offset;
      const HostTensor one = StoredTensor(stored, {100}, owner, data);
      EXPECT_TRUE(HaveSameBytes(one, StoredTensor(stored, {10, 10}, owner, data)));
    }
  }
}

}  // namespace
}  // namespace ashlar
