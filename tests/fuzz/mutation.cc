// Changes files at random, one to four changes each, by a seeded generator.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "tests/fuzz/target.h"

namespace ashlar::testing {

int64_t EdgeNumber(std::mt19937_64& random) {
  const int bits = static_cast<int>(random() % 2 == 0 ? random() % 5 : random() % 64);
  const uint64_t number = (uint64_t{1} << bits) + random() % 3 - 1;
  return static_cast<int64_t>(random() % 4 == 0 ? 0 - number : number);
}

std::string WithChangedBytes(std::string file, std::mt19937_64& random) {
  if (file.empty()) return std::string(1, static_cast<char>(random()));
  const size_t at = random() % file.size();
  const size_t length = std::min<size_t>(1 + random() % 16, file.size() - at);
  switch (random() % 7) {
    case 0:
      file[at] = static_cast<char>(file[at] ^ (1 << random() % 8));
      break;
    case 1:
      file[at] = static_cast<char>(random());
      break;
    case 2: {  // a number, little endian
      const int64_t number = EdgeNumber(random);
      const size_t widths[] = {1, 2, 4, 8};
      std::memcpy(file.data() + at, &number, std::min(widths[random() % 4], file.size() - at));
      break;
    }
    case 3: {  // a number in digits
      const std::string number = std::to_string(EdgeNumber(random));
      file.replace(at, random() % 3, number);
      break;
    }
    case 4:
      file.erase(at, length);
      break;
    case 5:
      file.insert(random() % file.size(), file.substr(at, length));
      break;
    default:
      file.resize(at);
      break;
  }
  return file;
}

std::string Mutated(const std::string& file, std::mt19937_64& random) {
  std::string result = file;
  for (uint64_t changes = 1 + random() % 4; changes > 0; --changes) {
    const bool structured = kFuzzTarget.mutate != nullptr && random() % 4 != 0;
    result = structured ? kFuzzTarget.mutate(result, random)
                        : WithChangedBytes(std::move(result), random);
  }
  return result;
}

void Expect(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "does not hold: %s\n", what);
  std::abort();
}

void ExpectAnError(const absl::Status& status) {
  if (!absl::IsInternal(status) && !absl::IsUnknown(status)) return;
  std::fprintf(stderr, "%s\n", status.ToString().c_str());
  std::abort();
}

}  // namespace ashlar::testing
