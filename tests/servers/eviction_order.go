// Ranks pods as the kubelet does under memory pressure, with the kubelet's own code: lines of JSON in, lines of JSON out.
//
// A line is a list of {"pod": a Pod, "workingSetBytes": a number, or null for a pod without stats}; the answer is the list
// of their places in it, in the order in which they would be evicted.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	_ "unsafe" // for go:linkname

	v1 "k8s.io/api/core/v1"
	statsapi "k8s.io/kubelet/pkg/apis/stats/v1alpha1"
	_ "k8s.io/kubernetes/pkg/kubelet/eviction"
)

//go:linkname rankMemoryPressure k8s.io/kubernetes/pkg/kubelet/eviction.rankMemoryPressure
func rankMemoryPressure(pods []*v1.Pod, stats func(pod *v1.Pod) (statsapi.PodStats, bool))

type measured struct {
	Pod        *v1.Pod `json:"pod"`
	WorkingSet *uint64 `json:"workingSetBytes"`
}

func main() {
	lines := bufio.NewReader(os.Stdin)
	answers := json.NewEncoder(os.Stdout)
	questions := json.NewDecoder(lines)
	for questions.More() {
		var asked []measured
		if err := questions.Decode(&asked); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		pods := make([]*v1.Pod, len(asked))
		places := map[*v1.Pod]int{}
		for place, each := range asked {
			pods[place] = each.Pod
			places[each.Pod] = place
		}
		rankMemoryPressure(pods, func(pod *v1.Pod) (statsapi.PodStats, bool) {
			used := asked[places[pod]].WorkingSet
			return statsapi.PodStats{Memory: &statsapi.MemoryStats{WorkingSetBytes: used}}, used != nil
		})
		order := make([]int, len(pods))
		for place, pod := range pods {
			order[place] = places[pod]
		}
		if err := answers.Encode(order); err != nil {
			os.Exit(1)
		}
	}
}
