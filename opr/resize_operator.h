// The base of Resize and ResizeBytes: how outputs depend on inputs.
#ifndef ASHLAR_OPR_RESIZE_OPERATOR_H_
#define ASHLAR_OPR_RESIZE_OPERATOR_H_

#include <vector>

#include "opr/base/regions.h"
#include "opr/resize_param.h"

namespace ashlar {

class ResizeOperator : public Operator {
 public:
  InputUse input_use(int input) const override {
    return input == 0 ? InputUse::kDeviceValue : InputUse::kHostValue;
  }
  StorageRules storage_rules(const Site& site) const override;
  int64_t Computation(const Site& site) const override;
  ASHLAR_CUTS_OUTPUT_AND_INPUT()
  bool CropsInput(int input) const override;

 protected:
  virtual const ResizeParam& resize() const = 0;
  virtual OperatorPtr With(ResizeParam param) const = 0;
};

}  // namespace ashlar

#endif  // ASHLAR_OPR_RESIZE_OPERATOR_H_
