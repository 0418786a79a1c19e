#include "tests/emulated_gpu/tests/emulated_gpu.h"

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "runtime/device/device_library.h"
#include "tests/support/status.h"

namespace ashlar::testing {
namespace {

class Watch final : public ::testing::EmptyTestEventListener {
 public:
  void OnTestEnd(const ::testing::TestInfo&) override {
    emulated::Control& gpu = EmulatedGpu();
    for (const std::string& misuse : gpu.misuses()) ADD_FAILURE() << "misuse: " << misuse;
    gpu.ForgetMisuses();
    most_devices_ = std::max(most_devices_, gpu.machine().devices);
    for (const auto& [kind, count] : gpu.live()) {
      // Devices live until the end, with the libraries' handles and the engines that cuDNN has
      // prepared; planning_test.cc checks them.
      if (kind == "cuDNN descriptors") continue;
      const bool handles = kind.find("handles") != std::string::npos;
      const int64_t kept = handles ? most_devices_ : 0;
      EXPECT_LE(count, kept) << kind << " were left behind";
    }
    gpu.machine() = {};
  }

 private:
  int64_t most_devices_ = 0;
};

}  // namespace

namespace {

void* OpenedLibrary() {
  static void* const opened = [] {
    char program[4096] = {};
    const ssize_t length = readlink("/proc/self/exe", program, sizeof(program) - 1);
    std::string path(program, length > 0 ? static_cast<size_t>(length) : 0);
    path = path.substr(0, path.rfind('/') + 1) + "libashlar_cuda.so";
    void* const library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) {
      std::fprintf(stderr, "%s\n", dlerror());
      std::abort();
    }
    return library;
  }();
  return opened;
}

}  // namespace

emulated::Control& EmulatedGpu() {
  static emulated::Control* const control =
      reinterpret_cast<emulated::GetControl>(dlsym(OpenedLibrary(), emulated::kGetControl))();
  return *control;
}

void* EmulatedFunction(const char* name) {
  void* const function = dlsym(OpenedLibrary(), name);
  EXPECT_NE(function, nullptr) << name;
  return function;
}

Device& OpenEmulated(const CompNode& comp_node) {
  static const bool registered = [] {
    RegisterDeviceLibrary(CompNode::Type::kGpu, "libashlar_cuda.so");
    return true;
  }();
  static_cast<void>(registered);
  return *Value(OpenDevice(comp_node));
}

// Registers the listener before the tests begin.
static const bool watched = [] {
  ::testing::UnitTest::GetInstance()->listeners().Append(new Watch());
  return true;
}();

}  // namespace ashlar::testing
