import { notifications } from "@mantine/notifications";

const CLOSE = { "aria-label": "Close" };

/** Tell the outcome of something a person asked for; true when it went well. */
export async function notify(work: Promise<unknown>, done?: string): Promise<boolean> {
  try {
    await work;
    if (done) notifications.show({ message: done, color: "teal", closeButtonProps: CLOSE });
    return true;
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    notifications.show({ title: "Action failed", message, color: "red", autoClose: 12_000, closeButtonProps: CLOSE });
    return false;
  }
}

/** A word that asks for nothing. */
export const say = (message: string): void => void notifications.show({ message, closeButtonProps: CLOSE });
