package e2e_test

import (
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
)

const deploy = "../docs/deploy/"

// The files of docs/deploy are read as whoever runs them does, and every field that the agent relies on is looked at. No
// container engine, cluster or systemd runs them here.

func TestTheUnitIsWhatTheAgentNeeds(t *testing.T) {
	unit := readUnit(t, deploy+"drawbridge.service")
	for _, c := range []struct{ key, want string }{
		{"Unit.Wants", "network-online.target"},
		{"Unit.After", "network-online.target"},
		{"Unit.StartLimitIntervalSec", "0"},
		{"Service.Type", "notify"},
		{"Service.NotifyAccess", "main"},
		{"Service.User", "drawbridge"},
		{"Service.Group", "drawbridge"},
		{"Service.ExecStart", "/usr/bin/drawbridge run --config /etc/drawbridge/drawbridge.yaml"},
		{"Service.TimeoutStartSec", "infinity"},
		{"Service.TimeoutStopSec", "45s"},
		{"Service.WatchdogSec", "60s"},
		{"Service.Restart", "on-failure"},
		{"Service.RestartSec", "2s"},
		{"Service.RestartPreventExitStatus", "2"},
		{"Service.KillSignal", "SIGTERM"},
		{"Service.KillMode", "mixed"},
		{"Service.ConfigurationDirectory", "drawbridge"},
		{"Service.StateDirectory", "drawbridge"},
		{"Service.StateDirectoryMode", "0700"},
		{"Service.RuntimeDirectory", "drawbridge"},
		{"Service.RuntimeDirectoryMode", "0750"},
		{"Service.UMask", "0077"},
		{"Service.LimitNOFILE", "65536"},
		{"Service.CapabilityBoundingSet", ""},
		{"Service.NoNewPrivileges", "yes"},
		{"Service.ProtectSystem", "strict"},
		{"Service.ProtectHome", "yes"},
		{"Service.PrivateTmp", "yes"},
		{"Service.PrivateDevices", "yes"},
		{"Service.PrivateUsers", "yes"},
		{"Service.RestrictAddressFamilies", "AF_UNIX AF_INET AF_INET6"},
		{"Service.MemoryDenyWriteExecute", "yes"},
		{"Service.SystemCallFilter", "@system-service ~@privileged"},
		{"Install.WantedBy", "multi-user.target"},
	} {
		if got, ok := unit[c.key]; !ok || got != c.want {
			t.Errorf("%s=%s, want %s", c.key, got, c.want)
		}
	}
}

// readUnit returns the values of a unit by section and key; those of a key that is given again are joined.
func readUnit(t *testing.T, path string) map[string]string {
	t.Helper()
	text, err := os.ReadFile(path)
	must(t, err)
	values, section := make(map[string]string), ""
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		key, value, assigned := strings.Cut(line, "=")
		switch {
		case line == "" || line[0] == '#':
		case line[0] == '[':
			section = strings.Trim(line, "[]") + "."
		case !assigned:
			t.Fatalf("%s: %q is no assignment", path, line)
		default:
			before, again := values[section+key]
			if again {
				value = before + " " + value
			}
			values[section+key] = value
		}
	}
	return values
}

func TestSystemdTakesTheUnit(t *testing.T) {
	analyze, err := exec.LookPath("systemd-analyze")
	if err != nil {
		t.Skip("systemd-analyze is not installed: what systemd thinks of the unit is not known")
	}
	text, err := os.ReadFile(deploy + "drawbridge.service")
	must(t, err)
	path := filepath.Join(shortTemp(t), "drawbridge.service")
	must(t, os.WriteFile(path, []byte(strings.ReplaceAll(string(text), "/usr/bin/drawbridge", program)), 0o644))
	if said, err := exec.Command(analyze, "verify", path).CombinedOutput(); err != nil || len(said) > 0 {
		t.Errorf("verify: %v\n%s", err, said)
	}
	said, err := exec.Command(analyze, "security", "--offline=true", "--no-pager", path).CombinedOutput()
	level := regexp.MustCompile(`Overall exposure level .*: ([0-9.]+) `).FindSubmatch(said)
	if err != nil || level == nil {
		t.Skipf("this systemd-analyze does not judge a unit that is not loaded: %v\n%s", err, said)
	}
	if exposure, err := strconv.ParseFloat(string(level[1]), 64); err != nil || exposure > 1.5 {
		t.Errorf("exposure %s, want at most 1.5\n%s", level[1], said)
	}
}

func TestTheUserOfTheServiceCanBeMade(t *testing.T) {
	sysusers, err := exec.LookPath("systemd-sysusers")
	if err != nil {
		t.Skip("systemd-sysusers is not installed")
	}
	path, err := filepath.Abs(deploy + "drawbridge.sysusers")
	must(t, err)
	said, err := exec.Command(sysusers, "--dry-run", "--root", shortTemp(t), path).CombinedOutput()
	if err != nil || !strings.Contains(string(said), "Creating user 'drawbridge'") {
		t.Errorf("%v\n%s", err, said)
	}
}

func TestTheImageIsStaticAndRunsWithoutRights(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(deploy + "Dockerfile")
	must(t, err)
	var lines []string
	for line := range strings.Lines(string(text)) {
		if line = strings.TrimSpace(line); line != "" && line[0] != '#' {
			lines = append(lines, line)
		}
	}
	start := slices.Index(lines, "FROM scratch")
	if start < 0 {
		t.Fatal("the image is not made from nothing")
	}
	image := lines[start+1:]
	for _, want := range []string{
		"COPY --from=build /out/drawbridge /usr/bin/drawbridge",
		"COPY --from=build --chown=65532:65532 /out/var/lib/drawbridge /var/lib/drawbridge",
		"COPY --from=build --chown=65532:65532 /out/run/drawbridge /run/drawbridge",
		"USER 65532:65532",
		"ENV DRAWBRIDGE_CONFIG=/etc/drawbridge/drawbridge.yaml",
		"ENV DRAWBRIDGE_API=/run/drawbridge/api.sock",
		"VOLUME /var/lib/drawbridge",
		"EXPOSE 4747/udp",
		"STOPSIGNAL SIGTERM",
		`ENTRYPOINT ["/usr/bin/drawbridge"]`,
		`CMD ["run"]`,
	} {
		if !slices.Contains(image, want) {
			t.Errorf("no line %q", want)
		}
	}
	if !slices.ContainsFunc(image, func(l string) bool {
		return strings.HasPrefix(l, "HEALTHCHECK ") && strings.HasSuffix(l, `CMD ["/usr/bin/drawbridge", "health"]`)
	}) {
		t.Error("nothing looks whether the agent is ready")
	}
	if slices.ContainsFunc(image, func(l string) bool { return strings.HasPrefix(l, "RUN ") }) {
		t.Error("an empty image runs nothing")
	}
	if i := slices.IndexFunc(lines, func(l string) bool { return strings.HasPrefix(l, "RUN CGO_ENABLED=0 go build ") }); i >= 0 {
		requireStatic(t, lines[i])
	} else {
		t.Error("the agent is not built, or not static")
	}
}

// requireStatic builds as the line of the Dockerfile says, and looks at what came out.
func requireStatic(t *testing.T, line string) {
	t.Helper()
	if testing.Short() {
		t.Skip("builds the binary anew")
	}
	output := filepath.Join(shortTemp(t), "drawbridge")
	cmd := exec.Command("sh", "-c", strings.Replace(strings.TrimPrefix(line, "RUN "), "/out/drawbridge", output, 1))
	cmd.Dir = ".."
	if said, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", line, err, said)
	}
	f, err := elf.Open(output)
	must(t, err)
	defer f.Close()
	for _, p := range f.Progs {
		if p.Type == elf.PT_INTERP || p.Type == elf.PT_DYNAMIC {
			t.Errorf("the binary has a %s segment: an empty image has nothing to load it with", p.Type)
		}
	}
	if info, err := os.Stat(output); err != nil || info.Size() > 30_000_000 {
		t.Errorf("the binary has %d bytes, want at most 30 MB: %v", info.Size(), err)
	}
}

func TestTheComposeFileKeepsMessagesAndRights(t *testing.T) {
	file := readYAML(t, deploy+"compose.yaml")[0]
	requireFields(t, file, map[string]any{
		"services.drawbridge.build.dockerfile":          "docs/deploy/Dockerfile",
		"services.drawbridge.build.context":             "../..",
		"services.drawbridge.command":                   "[run]",
		"services.drawbridge.init":                      false,
		"services.drawbridge.restart":                   "unless-stopped",
		"services.drawbridge.stop_grace_period":         "45s",
		"services.drawbridge.read_only":                 true,
		"services.drawbridge.cap_drop":                  "[ALL]",
		"services.drawbridge.security_opt":              "[no-new-privileges:true]",
		"services.drawbridge.environment.GOMEMLIMIT":    "400MiB",
		"services.drawbridge.mem_limit":                 "512m",
		"services.drawbridge.ports":                     "[4747:4747/udp]",
		"services.drawbridge.volumes":                   "[spool:/var/lib/drawbridge api:/run/drawbridge]",
		"services.drawbridge.configs.0.source":          "drawbridge",
		"services.drawbridge.configs.0.target":          "/etc/drawbridge/drawbridge.yaml",
		"services.drawbridge.healthcheck.test":          "[CMD /usr/bin/drawbridge health]",
		"services.drawbridge.logging.options.max-size":  "10m",
		"services.shop.user":                            "1000:65532",
		"services.shop.depends_on.drawbridge.condition": "service_healthy",
		"services.shop.volumes":                         "[api:/run/drawbridge]",
		"volumes.spool":                                 "map[]",
		"volumes.api":                                   "map[]",
	})
	requireGoodConfig(t, field(file, "configs.drawbridge.content"), "/var/lib/drawbridge", 30, 45)
}

func TestTheSidecarStartsFirstStopsLastAndKeepsItsMessages(t *testing.T) {
	t.Parallel()
	byKind := make(map[string]any)
	for _, document := range readYAML(t, deploy+"kubernetes.yaml") {
		byKind[fmt.Sprint(field(document, "kind"))] = document
	}
	if kinds := slices.Sorted(maps.Keys(byKind)); fmt.Sprint(kinds) != "[ConfigMap Job PersistentVolumeClaim Service StatefulSet]" {
		t.Fatalf("documents: %v", kinds)
	}
	const pod, sidecar = "spec.template.spec.", "spec.template.spec.initContainers.0."
	user := map[string]any{
		pod + "securityContext.runAsNonRoot":        true,
		pod + "securityContext.runAsUser":           65532,
		pod + "securityContext.fsGroup":             65532,
		pod + "securityContext.fsGroupChangePolicy": "OnRootMismatch",
		pod + "securityContext.seccompProfile.type": "RuntimeDefault",
	}
	bare := func(container string) map[string]any {
		return map[string]any{
			container + "image": "drawbridge",
			container + "securityContext.allowPrivilegeEscalation": false,
			container + "securityContext.readOnlyRootFilesystem":   true,
			container + "securityContext.capabilities.drop":        "[ALL]",
			container + "volumeMounts.0.name":                      "spool",
			container + "volumeMounts.0.mountPath":                 "/var/lib/drawbridge",
		}
	}
	set := byKind["StatefulSet"]
	requireFields(t, set, user)
	requireFields(t, set, bare(sidecar))
	requireFields(t, set, map[string]any{
		"apiVersion":                                      "apps/v1",
		"spec.replicas":                                   1,
		"spec.serviceName":                                "shop",
		"spec.selector.matchLabels.app":                   "shop",
		"spec.template.metadata.labels.app":               "shop",
		pod + "terminationGracePeriodSeconds":             75,
		sidecar + "name":                                  "drawbridge",
		sidecar + "restartPolicy":                         "Always",
		sidecar + "args":                                  "[run]",
		sidecar + "env.0.name":                            "GOMEMLIMIT",
		sidecar + "env.0.value":                           "400MiB",
		sidecar + "ports.0.containerPort":                 4747,
		sidecar + "ports.0.protocol":                      "UDP",
		sidecar + "startupProbe.periodSeconds":            1,
		sidecar + "startupProbe.failureThreshold":         600,
		sidecar + "resources.limits.memory":               "512Mi",
		sidecar + "volumeMounts.1.mountPath":              "/run/drawbridge",
		sidecar + "volumeMounts.2.mountPath":              "/etc/drawbridge",
		sidecar + "volumeMounts.2.readOnly":               true,
		pod + "containers.0.volumeMounts.0.mountPath":     "/run/drawbridge",
		pod + "volumes.0.persistentVolumeClaim.claimName": "shop-spool",
		pod + "volumes.1.emptyDir.medium":                 "Memory",
		pod + "volumes.2.configMap.name":                  "shop-drawbridge",
	})
	job := byKind["Job"]
	requireFields(t, job, user)
	requireFields(t, job, bare(pod+"containers.0."))
	requireFields(t, job, map[string]any{
		"apiVersion":              "batch/v1",
		"spec.backoffLimit":       0,
		pod + "restartPolicy":     "Never",
		pod + "containers.0.args": "[init --agent shop --data-dir /var/lib/drawbridge/data --config /var/lib/drawbridge/data/sample.yaml]",
		pod + "volumes.0.persistentVolumeClaim.claimName": "shop-spool",
	})
	requireFields(t, byKind["PersistentVolumeClaim"], map[string]any{
		"metadata.name": "shop-spool", "spec.accessModes": "[ReadWriteOnce]", "spec.resources.requests.storage": "10Gi",
	})
	requireFields(t, byKind["Service"], map[string]any{
		"spec.selector.app": "shop", "spec.ports.0.port": 4747, "spec.ports.0.targetPort": "link", "spec.ports.0.protocol": "UDP",
	})
	requireFields(t, byKind["ConfigMap"], map[string]any{"metadata.name": "shop-drawbridge"})
	data := field(byKind["ConfigMap"], "data").(map[string]any)
	requireGoodConfig(t, data["drawbridge.yaml"], "/var/lib/drawbridge/data", 30, 75)
	requireProbes(t, set, sidecar)
}

// requireProbes runs the commands of the probes beside an agent: they succeed while it runs, and fail when it does not.
func requireProbes(t *testing.T, set any, sidecar string) {
	t.Helper()
	h := newHost(t, "shop")
	h.configure(h.begins(""))
	probe := func(name string) int {
		command := field(set, sidecar+name+"Probe.exec.command").([]any)
		if command[0] != "/usr/bin/drawbridge" {
			t.Fatalf("the %s probe runs %v", name, command)
		}
		args := make([]string, 0, len(command))
		for _, word := range command[1:] {
			args = append(args, fmt.Sprint(word))
		}
		return h.run(args...).code
	}
	for _, name := range []string{"startup", "readiness", "liveness"} {
		if probe(name) == 0 {
			t.Errorf("the %s probe succeeds without an agent", name)
		}
	}
	h.start()
	for _, name := range []string{"startup", "readiness", "liveness"} {
		if code := probe(name); code != 0 {
			t.Errorf("the %s probe ends with %d beside an agent", name, code)
		}
	}
}

// requireGoodConfig lets the agent judge a configuration inside another file, and compares it with what surrounds it: the
// grace of whoever stops it, in seconds, must be longer than its own.
func requireGoodConfig(t *testing.T, content any, dataDir string, grace, outerGrace int) {
	t.Helper()
	text := fmt.Sprint(content)
	path := filepath.Join(shortTemp(t), "drawbridge.yaml")
	must(t, os.WriteFile(path, []byte(text), 0o600))
	if out := runProgram(t, program, "config", "check", path); out.code != 0 {
		t.Errorf("%s\n%s", out.stderr, text)
	}
	requireFields(t, readYAML(t, path)[0], map[string]any{
		"data_dir": dataDir, "listen.link": "[::]:4747", "listen.api": "/run/drawbridge/api.sock", "log.format": "json",
	})
	if given := field(readYAML(t, path)[0], "shutdown_grace"); given != nil && given != fmt.Sprintf("%ds", grace) {
		t.Errorf("shutdown_grace is %v, want %ds", given, grace)
	}
	if outerGrace <= grace {
		t.Errorf("stopped after %ds, the agent may need %ds", outerGrace, grace)
	}
}

// readYAML returns the documents of a file.
func readYAML(t *testing.T, path string) (documents []any) {
	t.Helper()
	f, err := os.Open(path)
	must(t, err)
	defer f.Close()
	for d := yaml.NewDecoder(f); ; {
		var document any
		err := d.Decode(&document)
		if errors.Is(err, io.EOF) {
			return documents
		}
		must(t, err)
		documents = append(documents, document)
	}
}

// field returns what lies at a path of keys and indexes, or nil.
func field(document any, path string) any {
	for step := range strings.SplitSeq(path, ".") {
		switch at := document.(type) {
		case map[string]any:
			document = at[step]
		case []any:
			i, err := strconv.Atoi(step)
			if err != nil || i >= len(at) {
				return nil
			}
			document = at[i]
		default:
			return nil
		}
	}
	return document
}

// requireFields compares fields by what they print.
func requireFields(t *testing.T, document any, want map[string]any) {
	t.Helper()
	for _, path := range slices.Sorted(maps.Keys(want)) {
		if got := field(document, path); fmt.Sprint(got) != fmt.Sprint(want[path]) {
			t.Errorf("%s is %v, want %v", path, got, want[path])
		}
	}
}
