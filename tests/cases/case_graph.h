// A case as a graph, for what reads or rewrites graphs.
#ifndef ASHLAR_TESTS_CASES_CASE_GRAPH_H_
#define ASHLAR_TESTS_CASES_CASE_GRAPH_H_

#include "graph/graph.h"
#include "tests/cases/cases.h"

namespace ashlar::testing {

// The operator of a case in a graph of its own: input 0 is the graph's, "x", as the integers that
// it is stored as where it is quantised; the others are constants; its outputs are the graph's.
struct CaseGraph {
  Graph graph;
  int input = 0, op = 0;  // ids of the operators
};
CaseGraph GraphOf(const KernelCase& test);

// Calls `run` with every case of every operator that has such a graph, once and not in each format.
void ForEachCaseGraph(uint64_t seed,
                      const std::function<void(const KernelCase&, const CaseGraph&)>& run);

}  // namespace ashlar::testing

#endif  // ASHLAR_TESTS_CASES_CASE_GRAPH_H_
