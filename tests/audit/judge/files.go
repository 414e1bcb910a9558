// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/mod/sumdb/tlog"
)

func noteFile(path string, vkeys []string) (string, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	opened, err := openNote(data, vkeys)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%d signatures", len(opened.Sigs)), nil
}

func inclusionFile(proof, entry string, vkeys []string) (string, error) {
	data, err := os.ReadFile(proof)
	if err != nil {
		return "", err
	}
	content, err := os.ReadFile(entry)
	if err != nil {
		return "", err
	}
	return "included", inclusion(data, content, vkeys)
}

// inclusion checks a .tlog-proof [tlog-proof].
func inclusion(data, entry []byte, vkeys []string) error {
	lines, signed, err := splitProof(data)
	if err != nil {
		return err
	}
	if lines[0] != "c2sp.org/tlog-proof@v1" {
		return errors.New("not a proof file")
	}
	lines = lines[1:]
	if len(lines) > 0 && strings.HasPrefix(lines[0], "extra ") {
		text := lines[0][len("extra "):]
		extra, err := strict.DecodeString(text)
		// Go's decoder skips carriage returns, so compare with the one spelling.
		if err != nil || len(extra) == 0 || strict.EncodeToString(extra) != text {
			return errors.New("malformed extra data")
		}
		lines = lines[1:]
	}
	if len(lines) == 0 || !strings.HasPrefix(lines[0], "index ") {
		return errors.New("no index")
	}
	index, err := parseSize(lines[0][len("index "):])
	if err != nil {
		return err
	}
	hashes, err := parseHashes(lines[1:])
	if err != nil {
		return err
	}
	head, err := openCheckpoint(signed, vkeys)
	if err != nil {
		return err
	}
	leaf := tlog.RecordHash(entry)
	return checkRecord(hashes, head.size, head.root, index, leaf)
}

// Beyond 2^62 records x/mod looks for the split of the tree without end.
var errHuge = errors.New("larger than x/mod can count")

func checkRecord(p tlog.RecordProof, t int64, th tlog.Hash, n int64, h tlog.Hash) error {
	if t > 1<<62 {
		return errHuge
	}
	return tlog.CheckRecord(p, t, th, n, h)
}

func checkTree(p tlog.TreeProof, t int64, th tlog.Hash, n int64, h tlog.Hash) error {
	if t > 1<<62 {
		return errHuge
	}
	return tlog.CheckTree(p, t, th, n, h)
}

func consistencyFile(proof, old string, vkeys []string) (string, error) {
	data, err := os.ReadFile(proof)
	if err != nil {
		return "", err
	}
	signed, err := os.ReadFile(old)
	if err != nil {
		return "", err
	}
	return "consistent", consistency(data, signed, vkeys)
}

// consistency checks the body of a request to a witness [tlog-witness].
func consistency(data, oldNote []byte, vkeys []string) error {
	lines, signed, err := splitProof(data)
	if err != nil {
		return err
	}
	if !strings.HasPrefix(lines[0], "old ") {
		return errors.New("no old size")
	}
	size, err := parseSize(lines[0][len("old "):])
	if err != nil {
		return err
	}
	hashes, err := parseHashes(lines[1:])
	if err != nil {
		return err
	}
	old, err := openCheckpoint(oldNote, vkeys)
	if err != nil {
		return fmt.Errorf("old checkpoint: %v", err)
	}
	head, err := openCheckpoint(signed, vkeys)
	if err != nil {
		return err
	}
	if old.origin != head.origin || old.size != size {
		return errors.New("not from the old checkpoint")
	}
	if size == 0 {
		if len(hashes) > 0 {
			return errors.New("proof from the empty log")
		}
		return nil
	}
	return checkTree(hashes, head.size, head.root, size, old.root)
}

// A testCase is one line of `judge batch`; bytes are base64 in JSON.
type testCase struct {
	Kind   string
	Data   []byte   // note, inclusion, consistency, checkpoint
	Other  []byte   // the entry, or the old checkpoint
	Keys   []string // verifier keys
	Index  string   // record: index; tree: old size
	Size   string
	Leaf   []byte // record: leaf hash; tree: old root
	Root   []byte
	Hashes [][]byte
}

// batch answers every case with one line, OK, SPELLING or FAIL.
func batch(in io.Reader, out io.Writer) error {
	decoder := json.NewDecoder(bufio.NewReader(in))
	answers := bufio.NewWriter(out)
	defer answers.Flush()
	for {
		var one testCase
		if err := decoder.Decode(&one); err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
		switch err := judge(one); {
		case err == nil:
			fmt.Fprintln(answers, "OK")
		case errors.Is(err, errSpelling):
			fmt.Fprintln(answers, "SPELLING")
		default:
			fmt.Fprintln(answers, "FAIL", err)
		}
	}
}

func judge(one testCase) error {
	switch one.Kind {
	case "note":
		_, err := openNote(one.Data, one.Keys)
		return err
	case "checkpoint":
		_, err := openCheckpoint(one.Data, one.Keys)
		return err
	case "inclusion":
		return inclusion(one.Data, one.Other, one.Keys)
	case "consistency":
		return consistency(one.Data, one.Other, one.Keys)
	case "record", "tree":
		return numbers(one)
	}
	return fmt.Errorf("unknown kind %s", one.Kind)
}

// numbers checks a proof that is not in a file.
func numbers(one testCase) error {
	index, err := parseSize(one.Index)
	if err != nil {
		return err
	}
	size, err := parseSize(one.Size)
	if err != nil {
		return err
	}
	var hashes []tlog.Hash
	for _, data := range append([][]byte{one.Leaf, one.Root}, one.Hashes...) {
		if len(data) != sha256.Size {
			return errors.New("malformed hash")
		}
		var hash tlog.Hash
		copy(hash[:], data)
		hashes = append(hashes, hash)
	}
	if one.Kind == "record" {
		return checkRecord(hashes[2:], size, hashes[1], index, hashes[0])
	}
	return checkTree(hashes[2:], size, hashes[1], index, hashes[0])
}
