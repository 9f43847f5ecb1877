import { Button, Modal, PasswordInput, Stack, Text } from "@mantine/core";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import { data, onSignedOut, token } from "../api";
import { signInMethods } from "../client";

/** Asks for a token or a sign-in with the identity provider when an answer says that one is needed, or that the token is invalid. */
export function SignIn() {
  const [wanted, setWanted] = useState(false);
  const [typed, setTyped] = useState("");
  const queries = useQueryClient();
  useEffect(() => {
    const forget = onSignedOut(() => setWanted(true));
    return () => void forget();
  }, []);
  const submit = (event: React.FormEvent): void => {
    event.preventDefault();
    token.write(typed.trim());
    setTyped("");
    setWanted(false);
    void queries.resetQueries();
  };
  return (
    <Modal opened={wanted} onClose={() => setWanted(false)} title="Sign in to Kernelwright" centered closeButtonProps={{ "aria-label": "Close" }}>
      <form onSubmit={submit}>
        <Stack>
          <Text size="sm">
            {token.read() ? "Invalid token. Check it and try again. " : ""}
            Enter one of your tokens, or the server's token (KERNELWRIGHT_TOKEN). It is kept until you close this tab.
          </Text>
          <PasswordInput label="Token" required value={typed} onChange={(event) => setTyped(event.currentTarget.value)} data-autofocus />
          <Button type="submit">Sign in</Button>
          <Provider />
        </Stack>
      </form>
    </Modal>
  );
}

function Provider() {
  const methods = useQuery({ queryKey: ["sign-in"], queryFn: () => data(signInMethods()), staleTime: 60_000 });
  if (!methods.data?.provider) return null;
  const back = encodeURIComponent(location.pathname + location.search);
  return (
    <Button component="a" href={`/auth/login?back=${back}`} variant="default" onClick={() => token.clear()}>
      Sign in with {methods.data.provider}
    </Button>
  );
}
