// How tests steer the emulation of the CUDA libraries, and what they learn from it.
#ifndef ASHLAR_TESTS_EMULATED_GPU_CONTROL_H_
#define ASHLAR_TESTS_EMULATED_GPU_CONTROL_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace ashlar::emulated {

// What the emulated machine is like. A process takes it from the environment variable
// EMULATED_GPU, "name=value,name=value", with these names.
struct Machine {
  int64_t driver = 13000;  // the CUDA version of its driver; 0: there is none
  int64_t devices = 1;
  int64_t capability = 90;            // ten times the devices' compute capability
  int64_t memory = int64_t{4} << 30;  // bytes of a device
  int64_t others = 0;                 // bytes of them that others hold
  int64_t whole_images = 0;           // 1: no convolution takes part of a larger image
  int64_t unfused = 0;                // 1: none takes anything behind it
  int64_t keeps = 0;  // bytes of the host's memory that each launch of a graph keeps
  // The CUDA error of which the next work on the device dies; 0: none. It shows when that is waited
  // for, and from then on in every call, which tells it or, a library's, only that it failed.
  int64_t dies_of = 0;
  int64_t dead_of = 0;  // the error once it has died
  // The seed of an order in which the device takes up work of all streams at any time, as far as
  // events allow: early, while the host goes on, or late. 0: what is waited for, and when it is.
  int64_t order = 0;
};

class Control {
 public:
  virtual ~Control() = default;
  virtual Machine& machine() = 0;
  // Lets the call-th call of a function from now on fail (1: the next one), and no other.
  virtual void Fail(const std::string& function, int64_t call) = 0;
  // Lets the next call of a function find the device dead of a CUDA error.
  virtual void DieAt(const std::string& function, int64_t error) = 0;
  // Whether Fail's call did.
  virtual bool failed() const = 0;
  // Calls by function, since the process began; in parentheses what some calls do.
  virtual std::map<std::string, int64_t> calls() const = 0;
  // What is there now and has to be destroyed, by kind; kinds of which there is none are left out.
  virtual std::map<std::string, int64_t> live() const = 0;
  // What was done that the libraries' documentation forbids, in words.
  virtual std::vector<std::string> misuses() const = 0;
  virtual void ForgetMisuses() = 0;
};

// A library with the emulation has a function of this C type and name.
using GetControl = Control* (*)();
inline constexpr char kGetControl[] = "emulated_gpu_control";

}  // namespace ashlar::emulated

#endif  // ASHLAR_TESTS_EMULATED_GPU_CONTROL_H_
