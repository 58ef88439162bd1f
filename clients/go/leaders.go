package stint

import (
	"context"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// slotCount is the number of hash slots that a cluster divides among its groups.
const slotCount = 16384

// maxPlaces is the number of nodes that can be leaders for a client: the first ones.
const maxPlaces = 255

const (
	learnEvery = 10 * time.Second // leaders change without a word while nodes forward
	learnAgain = time.Second      // after a redirection or a failure
)

// leaders has the node that leads the group of each slot, as CLUSTER SLOTS shows them. It knows none in a cluster
// without groups, whose nodes are all as good, and on a single server, which is not asked. The lock of nodes guards it.
type leaders struct {
	areKnown bool
	bySlot   [slotCount]uint8 // the place of a node in nodes, counted from 1; 0: not known
	asked    time.Time
	isOld    bool // a node has redirected or failed since
}

// isDue reports whether it is time to ask for the leaders.
func (l *leaders) isDue(now time.Time) bool {
	age := now.Sub(l.asked)
	return age >= learnEvery || l.isOld && age >= learnAgain
}

// leader is the node that leads a key's group, nil if it is not known or was left. It asks for the leaders if it is time
// to.
func (n *nodes) leader(key string) *redis.Client {
	n.mu.Lock()
	defer n.mu.Unlock()
	if now := time.Now(); len(n.clients) > 1 && !n.closed && n.leaders.isDue(now) {
		n.leaders.asked, n.leaders.isOld = now, false
		go n.learn(n.clients[n.current])
		for client, isAsked := range n.left {
			if !isAsked {
				n.left[client] = true
				go n.ping(client)
			}
		}
	}
	if !n.leaders.areKnown || key == "" {
		return nil
	}
	place := n.leaders.bySlot[slotOf(key)]
	if place == 0 {
		return nil
	}
	client := n.clients[place-1]
	if _, left := n.left[client]; left {
		return nil
	}
	return client
}

// ping asks a node that was left whether it answers again.
func (n *nodes) ping(client *redis.Client) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	_, silent := classify(client.Ping(ctx).Err())
	n.mu.Lock()
	defer n.mu.Unlock()
	if silent {
		n.left[client] = false
		return
	}
	delete(n.left, client)
	n.leaders.isOld = true
}

// learn asks a node for the leaders. Those at addresses that were neither given nor named by a redirection stay
// unknown, because they may be out of reach from here.
func (n *nodes) learn(client *redis.Client) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	slots := client.ClusterSlots(ctx) //nolint:staticcheck // it is shorter than CLUSTER SHARDS
	ranges, err := slots.Result()
	n.mu.Lock()
	defer n.mu.Unlock()
	if err != nil {
		n.leaders.isOld = n.leaders.isOld || cannotServe([]redis.Cmder{slots})
		return
	}
	places := map[string]uint8{}
	for i, client := range n.clients[:min(len(n.clients), maxPlaces)] {
		places[client.Options().Addr] = uint8(i + 1)
	}
	n.leaders.areKnown, n.leaders.bySlot = len(ranges) > 1, [slotCount]uint8{}
	for _, r := range ranges {
		if len(r.Nodes) == 0 {
			continue
		}
		for slot := max(r.Start, 0); slot <= min(r.End, slotCount-1); slot++ {
			n.leaders.bySlot[slot] = places[r.Nodes[0].Addr]
		}
	}
}

// keyOf is the key by which a command's leader is found; empty if the server alone knows the keys.
func keyOf(arguments []any) string {
	place := 1
	switch arguments[0] {
	case "RL.CHECK", "RL.POLICY", "PING":
		return ""
	case "RL.ALL":
		place = 2
	}
	if place >= len(arguments) {
		return ""
	}
	key, _ := arguments[place].(string)
	return key
}

// slotOf is the hash slot of a key: the CRC16 (XMODEM) of the key, or of the tag between its first braces, modulo 16384.
func slotOf(key string) int {
	if _, after, ok := strings.Cut(key, "{"); ok {
		if tag, _, ok := strings.Cut(after, "}"); ok && tag != "" {
			key = tag
		}
	}
	var crc uint16
	for _, b := range []byte(key) {
		crc ^= uint16(b) << 8
		for range 8 {
			if crc&0x8000 != 0 {
				crc = crc<<1 ^ 0x1021
			} else {
				crc <<= 1
			}
		}
	}
	return int(crc) % slotCount
}
