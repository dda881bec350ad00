import { expect, onTestFinished, test } from "vitest";
import { onStop } from "../../src/engine/on-stop.ts";

test("a dozen workers on one signal are no leak to warn of, and leave no listener behind", async () => {
  const warnings: string[] = [];
  const warned = ({ name }: Error) => void warnings.push(name);
  process.on("warning", warned);
  onTestFinished(() => void process.off("warning", warned));
  const controller = new AbortController();
  const stopped: number[] = [];
  const undo = Array.from({ length: 12 }, (_, n) =>
    onStop(controller.signal, () => stopped.push(n)),
  );
  // Warnings are emitted in the next tick.
  await new Promise((resolve) => setImmediate(resolve));
  undo[0]?.();
  controller.abort();
  expect(stopped).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]);
  expect(warnings).toEqual([]);
});

test("a signal that has aborted stops at once", () => {
  let stops = 0;
  onStop(AbortSignal.abort(), () => {
    stops += 1;
  });
  expect(stops).toBe(1);
});
