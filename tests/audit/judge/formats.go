// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"
)

type checkpoint struct {
	origin string
	size   int64
	root   tlog.Hash
}

// errSpelling marks a note that x/mod accepts although its base64 has bits beyond the
// last byte: the same note has several spellings. lexfed refuses those.
var errSpelling = errors.New("base64 with more than one spelling")

var strict = base64.StdEncoding.Strict()

func openNote(data []byte, vkeys []string) (*note.Note, error) {
	var known []note.Verifier
	for _, vkey := range vkeys {
		verifier, err := newVerifier(vkey)
		if err != nil {
			return nil, err
		}
		known = append(known, verifier)
	}
	opened, err := note.Open(data, note.VerifierList(known...))
	if err != nil {
		return nil, err
	}
	_, lines, _ := cutLast(string(data), "\n\n")
	for _, line := range strings.Split(strings.TrimSuffix(lines, "\n"), "\n") {
		if _, err := strict.DecodeString(line[strings.LastIndex(line, " ")+1:]); err != nil {
			return nil, errSpelling
		}
	}
	return opened, nil
}

func openCheckpoint(data []byte, vkeys []string) (checkpoint, error) {
	opened, err := openNote(data, vkeys)
	if err != nil {
		return checkpoint{}, err
	}
	head, err := parseCheckpoint(opened.Text)
	if err != nil {
		return checkpoint{}, err
	}
	for _, signature := range opened.Sigs {
		if isLogKey(vkeys, signature) && signature.Name != head.origin {
			return checkpoint{}, fmt.Errorf("signed by %s", signature.Name)
		}
	}
	return head, nil
}

// isLogKey tells the keys of the log, named as its origin, from those of witnesses.
func isLogKey(vkeys []string, signature note.Signature) bool {
	for _, vkey := range vkeys {
		verifier, err := newVerifier(vkey)
		_, witness := verifier.(*cosigner)
		if err == nil && !witness && verifier.KeyHash() == signature.Hash {
			return true
		}
	}
	return false
}

// parseCheckpoint reads three lines: origin, size, root [tlog-checkpoint].
func parseCheckpoint(text string) (checkpoint, error) {
	lines := strings.Split(text, "\n")
	if len(lines) != 4 || lines[0] == "" || lines[3] != "" {
		return checkpoint{}, errors.New("not three lines")
	}
	size, err := parseSize(lines[1])
	if err != nil {
		return checkpoint{}, err
	}
	root, err := parseHash(lines[2])
	if err != nil {
		return checkpoint{}, err
	}
	if size == 0 && root != sha256.Sum256(nil) {
		return checkpoint{}, errors.New("empty log with another root")
	}
	return checkpoint{lines[0], size, root}, nil
}

func parseSize(text string) (int64, error) {
	size, err := strconv.ParseInt(text, 10, 64)
	if err != nil || size < 0 || strconv.FormatInt(size, 10) != text {
		return 0, errors.New("malformed number")
	}
	return size, nil
}

func parseHash(text string) (tlog.Hash, error) {
	var hash tlog.Hash
	data, err := strict.DecodeString(text)
	if err != nil || len(data) != len(hash) || strict.EncodeToString(data) != text {
		return hash, errors.New("malformed hash")
	}
	copy(hash[:], data)
	return hash, nil
}

func parseHashes(lines []string) ([]tlog.Hash, error) {
	var hashes []tlog.Hash
	for _, line := range lines {
		hash, err := parseHash(line)
		if err != nil {
			return nil, err
		}
		hashes = append(hashes, hash)
	}
	return hashes, nil
}

// rootAt knows the empty tree too, which tlog.TreeHash of Go 1.19's x/mod does not.
func rootAt(tree memory, size int64) (tlog.Hash, error) {
	if size == 0 {
		return sha256.Sum256(nil), nil
	}
	return tlog.TreeHash(size, tree)
}

// cosigner verifies timestamped Ed25519 cosignatures, algorithm 04 [tlog-cosignature].
type cosigner struct {
	name string
	hash uint32
	key  ed25519.PublicKey
}

func (c *cosigner) Name() string    { return c.name }
func (c *cosigner) KeyHash() uint32 { return c.hash }

func (c *cosigner) Verify(msg, sig []byte) bool {
	if len(sig) != 8+ed25519.SignatureSize {
		return false
	}
	time := binary.BigEndian.Uint64(sig)
	if time == 0 || time >= 1<<63 {
		return false
	}
	signed := append([]byte(fmt.Sprintf("cosignature/v1\ntime %d\n", time)), msg...)
	return ed25519.Verify(c.key, signed, sig[8:])
}

func newVerifier(vkey string) (note.Verifier, error) {
	parts := strings.SplitN(vkey, "+", 3)
	if len(parts) == 3 {
		key, err := strict.DecodeString(parts[2])
		if err == nil && len(key) == 33 && key[0] == 4 {
			sum := sha256.Sum256(append([]byte(parts[0]+"\n"), key...))
			hash := binary.BigEndian.Uint32(sum[:])
			if fmt.Sprintf("%08x", hash) != parts[1] {
				return nil, errors.New("key id does not match")
			}
			return &cosigner{parts[0], hash, key[1:]}, nil
		}
	}
	return note.NewVerifier(vkey)
}

// readTile reads a tile or bundle of the given width, or the full one in place of a
// partial one [tlog-tiles, Partial Tiles].
func readTile(dir, level string, index, width int64) ([]byte, error) {
	full := filepath.Join(dir, "tile", level, filepath.FromSlash(tileNumber(index)))
	if width == 256 {
		return os.ReadFile(full)
	}
	data, err := os.ReadFile(full + ".p/" + strconv.FormatInt(width, 10))
	if os.IsNotExist(err) {
		return os.ReadFile(full)
	}
	return data, err
}

// tileNumber writes 1234067 as x001/x234/067.
func tileNumber(index int64) string {
	text := fmt.Sprintf("%03d", index%1000)
	for index /= 1000; index > 0; index /= 1000 {
		text = fmt.Sprintf("x%03d/%s", index%1000, text)
	}
	return text
}

// splitBundle reads at least width entries, each after its length in two bytes.
func splitBundle(data []byte, width int64) ([][]byte, error) {
	var entries [][]byte
	for len(data) > 0 {
		if len(data) < 2 || len(data)-2 < int(binary.BigEndian.Uint16(data)) {
			return nil, errors.New("cut off")
		}
		end := 2 + int(binary.BigEndian.Uint16(data))
		entries = append(entries, data[2:end])
		data = data[end:]
	}
	if int64(len(entries)) != width && len(entries) != 256 {
		return nil, fmt.Errorf("%d entries, not %d", len(entries), width)
	}
	return entries[:width], nil
}

func cutLast(text, separator string) (before, after string, found bool) {
	i := strings.LastIndex(text, separator)
	if i < 0 {
		return text, "", false
	}
	return text[:i], text[i+len(separator):], true
}

// splitProof separates the lines of a proof file from the checkpoint under them.
func splitProof(data []byte) ([]string, []byte, error) {
	i := bytes.Index(data, []byte("\n\n"))
	if i < 0 {
		return nil, nil, errors.New("no blank line")
	}
	return strings.Split(string(data[:i]), "\n"), data[i+2:], nil
}
