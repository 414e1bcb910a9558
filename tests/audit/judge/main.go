// SPDX-License-Identifier: Apache-2.0

// Judge reads logs, proofs and notes with golang.org/x/mod/sumdb and nothing of
// lexfed. Tree hashes, proofs and note signatures are x/mod's; what x/mod does not
// know is read here from the specifications: C2SP paths, bodies of checkpoints,
// entry bundles, cosignatures and proof files.
//
//	judge log DIR VKEY...                every bundle, tile, checkpoint, and proofs
//	judge inclusion PROOF ENTRY VKEY...  a .tlog-proof of the entry's bytes
//	judge consistency PROOF OLD VKEY...  a consistency file from the note OLD
//	judge note FILE VKEY...              a signed note
//	judge batch                          cases as JSON lines from standard input
//
// Exit code 0 and "OK ..." if all is sound, 1 and "FAIL ..." if not, 2 for bad usage.
// With several keys a log, a proof or a note must be signed by at least one, and a
// wrong signature by any of them fails.
package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"golang.org/x/mod/sumdb/tlog"
)

func main() {
	args := os.Args[1:]
	var word string
	var err error
	switch {
	case len(args) >= 3 && args[0] == "log":
		word, err = checkLog(args[1], args[2:])
	case len(args) >= 4 && args[0] == "inclusion":
		word, err = inclusionFile(args[1], args[2], args[3:])
	case len(args) >= 4 && args[0] == "consistency":
		word, err = consistencyFile(args[1], args[2], args[3:])
	case len(args) >= 3 && args[0] == "note":
		word, err = noteFile(args[1], args[2:])
	case len(args) == 1 && args[0] == "batch":
		err = batch(os.Stdin, os.Stdout)
		if err == nil {
			return
		}
	default:
		fmt.Fprintln(os.Stderr, "usage: judge log|inclusion|consistency|note|batch ...")
		os.Exit(2)
	}
	if err != nil {
		fmt.Println("FAIL", err)
		os.Exit(1)
	}
	fmt.Println("OK", word)
}

// memory holds the hashes of a tree in the order of tlog.StoredHashIndex.
type memory []tlog.Hash

func (m memory) ReadHashes(indexes []int64) ([]tlog.Hash, error) {
	out := make([]tlog.Hash, len(indexes))
	for i, index := range indexes {
		if index < 0 || index >= int64(len(m)) {
			return nil, fmt.Errorf("hash %d is not in the tree", index)
		}
		out[i] = m[index]
	}
	return out, nil
}

func checkLog(dir string, vkeys []string) (string, error) {
	data, err := os.ReadFile(filepath.Join(dir, "checkpoint"))
	if err != nil {
		return "", err
	}
	head, err := openCheckpoint(data, vkeys)
	if err != nil {
		return "", fmt.Errorf("checkpoint: %v", err)
	}
	tree, err := rebuild(dir, head.size)
	if err != nil {
		return "", err
	}
	if err := checkRoot(tree, head); err != nil {
		return "", fmt.Errorf("checkpoint: %v", err)
	}
	if err := checkTiles(dir, tree, head.size); err != nil {
		return "", err
	}
	if err := checkProofs(tree, head); err != nil {
		return "", err
	}
	count, err := checkSigned(dir, tree, head.size, vkeys)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%s size %d signed %d", head.origin, head.size, count), nil
}

// rebuild hashes every entry of every bundle into a tree of its own.
func rebuild(dir string, size int64) (memory, error) {
	var tree memory
	for start := int64(0); start < size; start += 256 {
		width := min(256, size-start)
		data, err := readTile(dir, "entries", start/256, width)
		if err != nil {
			return nil, err
		}
		entries, err := splitBundle(data, width)
		if err != nil {
			return nil, fmt.Errorf("bundle %d: %v", start/256, err)
		}
		for i, entry := range entries {
			hashes, err := tlog.StoredHashes(start+int64(i), entry, tree)
			if err != nil {
				return nil, err
			}
			tree = append(tree, hashes...)
		}
	}
	return tree, nil
}

func checkTiles(dir string, tree memory, size int64) error {
	for level := 0; size>>(8*uint(level)) > 0 && level < 8; level++ {
		hashes := size >> (8 * uint(level))
		for start := int64(0); start < hashes; start += 256 {
			width := min(256, hashes-start)
			name := strconv.Itoa(level)
			data, err := readTile(dir, name, start/256, width)
			if err != nil {
				return err
			}
			if int64(len(data)) < width*32 {
				return fmt.Errorf("tile %s/%d is short", name, start/256)
			}
			for i := int64(0); i < width; i++ {
				want := tree[tlog.StoredHashIndex(8*level, start+i)]
				if !bytes.Equal(data[i*32:i*32+32], want[:]) {
					return fmt.Errorf("tile %s/%d: hash %d is wrong", name, start/256, i)
				}
			}
		}
	}
	return nil
}

func checkRoot(tree memory, head checkpoint) error {
	root, err := rootAt(tree, head.size)
	if err != nil {
		return err
	}
	if root != head.root {
		return fmt.Errorf("root is %v, entries give %v", head.root, root)
	}
	return nil
}

// checkProofs makes proofs from the tree and checks them against the signed root:
// for every entry and size of a small log, for some of them in a large one.
func checkProofs(tree memory, head checkpoint) error {
	step := head.size/500 + 1
	for n := int64(0); n < head.size; n += step {
		proof, err := tlog.ProveRecord(head.size, n, tree)
		if err != nil {
			return err
		}
		leaf := tree[tlog.StoredHashIndex(0, n)]
		if err := tlog.CheckRecord(proof, head.size, head.root, n, leaf); err != nil {
			return fmt.Errorf("inclusion of entry %d: %v", n, err)
		}
	}
	for n := int64(1); n <= head.size; n += step {
		old, err := rootAt(tree, n)
		if err != nil {
			return err
		}
		proof, err := tlog.ProveTree(head.size, n, tree)
		if err != nil {
			return err
		}
		if err := tlog.CheckTree(proof, head.size, head.root, n, old); err != nil {
			return fmt.Errorf("consistency from %d entries: %v", n, err)
		}
	}
	return nil
}

// checkSigned reads every note under signed/: each is a prefix of the same tree.
func checkSigned(dir string, tree memory, size int64, vkeys []string) (int, error) {
	files, err := os.ReadDir(filepath.Join(dir, "signed"))
	if os.IsNotExist(err) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	for _, file := range files {
		data, err := os.ReadFile(filepath.Join(dir, "signed", file.Name()))
		if err != nil {
			return 0, err
		}
		head, err := openCheckpoint(data, vkeys)
		if err == nil && strconv.FormatInt(head.size, 10) != file.Name() {
			err = fmt.Errorf("holds size %d", head.size)
		}
		if err == nil && head.size <= size {
			err = checkRoot(tree, head)
		}
		if err != nil {
			return 0, fmt.Errorf("signed/%s: %v", file.Name(), err)
		}
	}
	return len(files), nil
}

func min(a, b int64) int64 {
	if a < b {
		return a
	}
	return b
}
