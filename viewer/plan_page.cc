#include "viewer/plan_page.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/string_view.h"
#include "serialization/json_file.h"
#include "viewer/plan_document.h"

namespace ashlar {

extern const char kPlanPageTemplate[];  // page/, joined by embed.cmake
extern const size_t kPlanPageTemplateBytes;

std::string PlanPage(const std::vector<ViewedPlan>& plans) {
  constexpr absl::string_view kPlace = "@PLANS@";
  nlohmann::ordered_json documents = nlohmann::ordered_json::array();
  for (const ViewedPlan& plan : plans) documents.push_back(PlanDocument(plan));
  // "</script>" and "<!--" would end the script or change how it is parsed.
  const std::string json = absl::StrReplaceAll(JsonText(documents, -1), {{"<", "\\u003c"}});
  const absl::string_view page(kPlanPageTemplate, kPlanPageTemplateBytes);
  const size_t place = page.find(kPlace);
  return absl::StrCat(page.substr(0, place), json, page.substr(place + kPlace.size()));
}

}  // namespace ashlar
