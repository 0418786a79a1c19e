// The interface through which tests control and observe the emulation of the CUDA libraries.
#ifndef ASHLAR_TESTS_EMULATED_GPU_CONTROL_H_
#define ASHLAR_TESTS_EMULATED_GPU_CONTROL_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace ashlar::emulated {

// The properties of the emulated machine. A process reads them from the environment variable
// EMULATED_GPU, "name=value,name=value", with these names.
struct Machine {
  int64_t driver = 13000;  // the CUDA version of its driver; 0: there is none
  int64_t devices = 1;
  int64_t capability = 90;            // ten times the devices' compute capability
  int64_t memory = int64_t{4} << 30;  // bytes per device
  int64_t others = 0;                 // bytes of these that other processes hold
  int64_t whole_images = 0;           // 1: no convolution takes a slice of a larger image
  int64_t unfused = 0;                // 1: no convolution takes an operation after it
  int64_t keeps = 0;                  // bytes of host memory that each launch of a graph keeps
  // The CUDA error with which the next work on the device fails; 0: none. The error shows when that
  // work is waited for, and then in every call. Calls of the runtime name it; calls of other
  // libraries only report failure.
  int64_t dies_of = 0;
  int64_t dead_of = 0;  // the error, once the device has died
  // The seed of the order of work. With a seed, the device starts work of all streams at any time
  // that events allow: early, while the host continues, or late. 0: work is done only when it is
  // waited for.
  int64_t order = 0;
};

class Control {
 public:
  virtual ~Control() = default;
  virtual Machine& machine() = 0;
  // Makes only the call-th call of a function from now on fail (1: the next one).
  virtual void Fail(const std::string& function, int64_t call) = 0;
  // Makes the next call of a function find the device dead, with this CUDA error.
  virtual void DieAt(const std::string& function, int64_t error) = 0;
  // Returns whether the call that Fail chose has failed.
  virtual bool failed() const = 0;
  // Returns the number of calls by function since the process began; parentheses name what some
  // calls do.
  virtual std::map<std::string, int64_t> calls() const = 0;
  // Returns the number of live objects by kind; kinds without any are left out.
  virtual std::map<std::string, int64_t> live() const = 0;
  // Returns descriptions of all calls that violate the libraries' documentation.
  virtual std::vector<std::string> misuses() const = 0;
  virtual void ForgetMisuses() = 0;
};

// The C type and name of the function that a library with the emulation exports.
using GetControl = Control* (*)();
inline constexpr char kGetControl[] = "emulated_gpu_control";

}  // namespace ashlar::emulated

#endif  // ASHLAR_TESTS_EMULATED_GPU_CONTROL_H_
