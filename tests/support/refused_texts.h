// Texts that a reader refuses.
#ifndef ASHLAR_TESTS_SUPPORT_REFUSED_TEXTS_H_
#define ASHLAR_TESTS_SUPPORT_REFUSED_TEXTS_H_

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "tests/support/status.h"

namespace ashlar::testing {

struct RefusedText {
  std::string text;
  std::string message;  // a substring of the error message
};

// Expects that `read` fails for each of these texts.
inline void ExpectTextsRefused(const std::vector<RefusedText>& texts,
                               absl::FunctionRef<absl::Status(const std::string& text)> read) {
  for (const RefusedText& refused : texts) {
    SCOPED_TRACE(refused.text.substr(0, 80));
    EXPECT_TRUE(FailsWith(read(refused.text), refused.message));
  }
}

}  // namespace ashlar::testing

#endif  // ASHLAR_TESTS_SUPPORT_REFUSED_TEXTS_H_
