package sysmem

import (
	"testing"
	"testing/fstest"
)

func TestGroupLimit(t *testing.T) {
	for _, test := range []struct {
		of    string
		files map[string]string
		want  int64
	}{
		{"no groups", nil, 1000},
		{"a container", map[string]string{"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/memory.max": "300\n"}, 300},
		{"a container with another's path", map[string]string{"proc/self/cgroup": "0::/../docker/7\n", "sys/fs/cgroup/memory.max": "300\n"}, 300},
		{"a container without the file of groups", map[string]string{"sys/fs/cgroup/memory.max": "300\n"}, 300},
		{"a service without limits", map[string]string{"proc/self/cgroup": "0::/a/b.service\n", "sys/fs/cgroup/a/b.service/memory.max": "max\n"}, 1000},
		{"MemoryMax= of a service", map[string]string{"proc/self/cgroup": "0::/a/b.service\n", "sys/fs/cgroup/a/b.service/memory.max": "300\n", "sys/fs/cgroup/a/memory.max": "max\n"}, 300},
		{"MemoryMax= of a slice", map[string]string{"proc/self/cgroup": "0::/a/b.service\n", "sys/fs/cgroup/a/b.service/memory.max": "300\n", "sys/fs/cgroup/a/memory.max": "200\n"}, 200},
		{"a path with a colon", map[string]string{"proc/self/cgroup": "0::/a:b\n", "sys/fs/cgroup/a:b/memory.max": "300\n"}, 300},
		{"version 1", map[string]string{"proc/self/cgroup": "5:cpu:/c\n4:memory:/a\n0::/\n", "sys/fs/cgroup/memory/a/memory.limit_in_bytes": "300\n", "sys/fs/cgroup/memory/c/memory.limit_in_bytes": "200\n"}, 300},
		{"version 1, no limit", map[string]string{"proc/self/cgroup": "4:memory:/\n", "sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712\n"}, 1000},
		{"more than the machine", map[string]string{"proc/self/cgroup": "0::/a\n", "sys/fs/cgroup/a/memory.max": "5000\n"}, 1000},
	} {
		root := fstest.MapFS{}
		for name, content := range test.files {
			root[name] = &fstest.MapFile{Data: []byte(content)}
		}
		if got := groupLimit(root, 1000); got != test.want {
			t.Errorf("%s: %d, want %d", test.of, got, test.want)
		}
	}
}
