// Prints KubeVirt's resource definitions, as its operator would create them, as one JSON list.
package main

import (
	"encoding/json"
	"log"
	"os"

	extv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"kubevirt.io/kubevirt/pkg/virt-operator/resource/generate/components"
)

func main() {
	made := []*extv1.CustomResourceDefinition{}
	for _, make := range []func() (*extv1.CustomResourceDefinition, error){
		components.NewKubeVirtCrd,
		components.NewMigrationPolicyCrd,
		components.NewPresetCrd,
		components.NewReplicaSetCrd,
		components.NewVirtualMachineBackupCrd,
		components.NewVirtualMachineBackupTrackerCrd,
		components.NewVirtualMachineCloneCrd,
		components.NewVirtualMachineClusterInstancetypeCrd,
		components.NewVirtualMachineClusterPreferenceCrd,
		components.NewVirtualMachineCrd,
		components.NewVirtualMachineExportCrd,
		components.NewVirtualMachineInstanceCrd,
		components.NewVirtualMachineInstanceMigrationCrd,
		components.NewVirtualMachineInstancetypeCrd,
		components.NewVirtualMachinePoolCrd,
		components.NewVirtualMachinePreferenceCrd,
		components.NewVirtualMachineRestoreCrd,
		components.NewVirtualMachineSnapshotContentCrd,
		components.NewVirtualMachineSnapshotCrd,
	} {
		crd, err := make()
		if err != nil {
			log.Fatal(err)
		}
		made = append(made, crd)
	}
	if err := json.NewEncoder(os.Stdout).Encode(made); err != nil {
		log.Fatal(err)
	}
}
